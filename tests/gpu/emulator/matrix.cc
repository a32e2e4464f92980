// SPDX-License-Identifier: Apache-2.0
#include "matrix.h"

#include <emmintrin.h>

#include <cstdint>
#include <cstring>

#include "abi.h"
#include "device.h"
#include "launch.h"

namespace octet::emulator {
namespace {

void all_lanes(unsigned present, const char* what) {
  if (present != ~0u) stop_kernel(kLaunchFailed, what);
}

// Two codes of neighboring k in one word, as pmaddwd multiplies them.
struct Tile {
  int a[16][16];  // row, pair of k
  int b[16][8];   // pair of k, column
};

// Bytes 2h and 2h + 1 of `word`, widened to 16 bits.
int widened(unsigned word, int h, bool is_signed) {
  const unsigned low = word >> (16 * h) & 255, high = word >> (16 * h + 8) & 255;
  if (!is_signed) return static_cast<int>(low | high << 16);
  return static_cast<int>((((low ^ 128) - 128) & 0xffff) | ((high ^ 128) - 128) << 16);
}

void gather(Tile& tile, const EmulatedMma& mine, int lane) {
  const int group = lane / 4, k = lane % 4 * 2;
  for (int h = 0; h < 2; ++h) {
    for (int part = 0; part < 4; ++part)
      tile.a[group + part % 2 * 8][k + part / 2 * 8 + h] = widened(mine.a[part], h, mine.a_signed);
    for (int part = 0; part < 2; ++part)
      tile.b[k + part * 8 + h][group] = widened(mine.b[part], h, true);
  }
}

}  // namespace

// The fragments of mma.m16n8k32 for 8-bit types, as the PTX manual draws them.
void mma(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at mma");
  Tile tile;
  for (int lane = 0; lane < 32; ++lane)
    gather(tile, *static_cast<const EmulatedMma*>(lanes[lane]), lane);
  alignas(16) int sums[16][8];
  for (int row = 0; row < 16; ++row) {
    __m128i left = _mm_setzero_si128(), right = left;
    for (int k = 0; k < 16; ++k) {
      const __m128i a = _mm_set1_epi32(tile.a[row][k]);
      const auto* b = reinterpret_cast<const __m128i*>(tile.b[k]);
      left = _mm_add_epi32(left, _mm_madd_epi16(a, _mm_loadu_si128(b)));
      right = _mm_add_epi32(right, _mm_madd_epi16(a, _mm_loadu_si128(b + 1)));
    }
    _mm_store_si128(reinterpret_cast<__m128i*>(sums[row]), left);
    _mm_store_si128(reinterpret_cast<__m128i*>(sums[row] + 4), right);
  }
  for (int lane = 0; lane < 32; ++lane) {
    int* d = static_cast<const EmulatedMma*>(lanes[lane])->d;
    for (int i = 0; i < 4; ++i)
      d[i] =
          static_cast<int>(static_cast<unsigned>(d[i]) +
                           static_cast<unsigned>(sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]));
  }
}

void ldmatrix(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at ldmatrix");
  const unsigned char* rows[32];
  for (int lane = 0; lane < 32; ++lane) {
    const void* row = static_cast<const EmulatedLdmatrix*>(lanes[lane])->row;
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
      stop_kernel(kMisaligned, "a row for ldmatrix is not aligned to 16 bytes");
    if (!in_shared_memory(row, 16))
      stop_kernel(kIllegalAddress, "a row for ldmatrix is outside of shared memory");
    rows[lane] = static_cast<const unsigned char*>(row);
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      std::memcpy(static_cast<EmulatedLdmatrix*>(lanes[lane])->d + i,
                  rows[8 * i + lane / 4] + lane % 4 * 4, 4);
}

}  // namespace octet::emulator
