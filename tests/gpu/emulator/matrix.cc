// SPDX-License-Identifier: Apache-2.0
#include "matrix.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

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

// A row of sums. pmaddwd by its name where there is one: g++ 12 does not find it.
void multiply_row(const int (&a)[16], const int (&b)[16][8], int (&sums)[8]) {
#if defined(__x86_64__)
  __m128i left = _mm_setzero_si128(), right = left;
  for (int k = 0; k < 16; ++k) {
    const __m128i pair = _mm_set1_epi32(a[k]);
    const auto* pairs = reinterpret_cast<const __m128i*>(b[k]);
    left = _mm_add_epi32(left, _mm_madd_epi16(pair, _mm_loadu_si128(pairs)));
    right = _mm_add_epi32(right, _mm_madd_epi16(pair, _mm_loadu_si128(pairs + 1)));
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), left);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + 4), right);
#else
  const auto half = [](int word, int bits) { return static_cast<int16_t>(word >> bits); };
  std::fill(sums, sums + 8, 0);
  for (int k = 0; k < 16; ++k) {
    for (int i = 0; i < 8; ++i)
      sums[i] += half(a[k], 0) * half(b[k][i], 0) + half(a[k], 16) * half(b[k][i], 16);
  }
#endif
}

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

struct FloatTile {
  double a[16][16];  // row, k
  double b[8][16];   // column, k
};

// Exact.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

double real_of(unsigned bits, bool f16) {
  if (!f16) return std::bit_cast<float>(bits << 16);
  const int exponent = static_cast<int>(bits >> 10 & 31), rest = static_cast<int>(bits & 1023);
  double size =
      exponent == 0 ? rest * power_of_two(-24) : (1024 + rest) * power_of_two(exponent - 25);
  if (exponent == 31)
    size = rest == 0 ? std::numeric_limits<double>::infinity()
                     : std::numeric_limits<double>::quiet_NaN();
  return bits >> 15 != 0 ? -size : size;
}

void gather(FloatTile& tile, const EmulatedMmaFloat& mine, int lane) {
  const int group = lane / 4, k = lane % 4 * 2;
  for (int h = 0; h < 2; ++h) {
    const auto half = [&](unsigned word) { return real_of(word >> (16 * h) & 0xffff, mine.f16); };
    for (int part = 0; part < 4; ++part)
      tile.a[group + part % 2 * 8][k + part / 2 * 8 + h] = half(mine.a[part]);
    for (int part = 0; part < 2; ++part) tile.b[group][k + part * 8 + h] = half(mine.b[part]);
  }
}

// Of a number that is neither 0 nor infinite; those of f32 are normal ones of f64.
int exponent_of(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 2047) - 1023;
}

// Of a product the exponent is that of its factors: mantissas between 1 and 4 are not normalized.
float truncated_sum(float sum, const double* a, const double* b, int count, int bits) {
  constexpr int kNone = -1000;
  double whole = sum;
  int largest = sum != 0 && std::isfinite(sum) ? exponent_of(sum) : kNone;
  for (int i = 0; i < count; ++i) {
    const double product = a[i] * b[i];
    whole += product;  // of what is not finite
    if (product != 0 && std::isfinite(product))
      largest = std::max(largest, exponent_of(a[i]) + exponent_of(b[i]));
  }
  if (!std::isfinite(whole)) return static_cast<float>(whole);
  if (largest == kNone) return 0;
  const double scale = power_of_two(bits - largest);
  const auto aligned = [&](double value) { return std::trunc(value * scale); };
  double exact = aligned(sum);
  for (int i = 0; i < count; ++i) exact += aligned(a[i] * b[i]);
  const double result = exact * power_of_two(largest - bits);
  const float nearest = static_cast<float>(result);
  return std::fabs(nearest) > std::fabs(result) ? std::nextafter(nearest, 0.0f) : nearest;
}

constexpr int kHopperBits = 25, kOtherBits = 24;

}  // namespace

// The fragments of mma.m16n8k32 for 8-bit types, as the PTX manual draws them.
void mma(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at mma");
  Tile tile;
  for (int lane = 0; lane < 32; ++lane)
    gather(tile, *static_cast<const EmulatedMma*>(lanes[lane]), lane);
  int sums[16][8];
  for (int row = 0; row < 16; ++row) multiply_row(tile.a[row], tile.b, sums[row]);
  for (int lane = 0; lane < 32; ++lane) {
    int* d = static_cast<const EmulatedMma*>(lanes[lane])->d;
    for (int i = 0; i < 4; ++i)
      d[i] =
          static_cast<int>(static_cast<unsigned>(d[i]) +
                           static_cast<unsigned>(sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]));
  }
}

// The fragments of mma.m8n8k16 for 8-bit types: row (of b column) lane / 4, bytes 4q to 4q + 3 of k (q = lane % 4); sums 2q and 2q + 1 of row lane / 4.
void mma_m8n8k16(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at mma");
  const auto lane_at = [&](int lane) { return static_cast<const EmulatedMma*>(lanes[lane]); };
  int a[8][16], b[8][16];
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const unsigned code = *lane_at(lane)->a >> (8 * i) & 255;
      const int k = lane % 4 * 4 + i;
      a[lane / 4][k] =
          lane_at(lane)->a_signed ? static_cast<std::int8_t>(code) : static_cast<int>(code);
      b[lane / 4][k] = static_cast<std::int8_t>(*lane_at(lane)->b >> (8 * i) & 255);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 2; ++i) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += a[lane / 4][k] * b[lane % 4 * 2 + i][k];
      int& d = lane_at(lane)->d[i];
      d = static_cast<int>(static_cast<unsigned>(d) + static_cast<unsigned>(sum));
    }
  }
}

// The fragments of mma.m16n8k16 for 16-bit types. The unit's rounding, as it was measured on real ones by others (docs/numerics.md, section 7): products are exact, they and the sum so far are
// truncated to so many bits below the largest exponent among them, added exactly, and truncated to f32. A Hopper takes all 16 of k at once, others 8 and 8.
void mma_float(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at mma");
  static FloatTile tile;
  for (int lane = 0; lane < 32; ++lane)
    gather(tile, *static_cast<const EmulatedMmaFloat*>(lanes[lane]), lane);
  const int group = is_hopper() ? 16 : 8, bits = is_hopper() ? kHopperBits : kOtherBits;
  for (int lane = 0; lane < 32; ++lane) {
    float* d = static_cast<const EmulatedMmaFloat*>(lanes[lane])->d;
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      for (int k = 0; k < 16; k += group)
        d[i] = truncated_sum(d[i], tile.a[row] + k, tile.b[column] + k, group, bits);
    }
  }
}

// The fragments of mma.m16n8k8 for f16: halves 2q and 2q + 1 (q = lane % 4) of rows lane / 4 and 8 further, and of column lane / 4.
void mma_f16_m16n8k8(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at mma");
  static double a[16][8], b[8][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& mine = *static_cast<const EmulatedMmaFloat*>(lanes[lane]);
    for (int h = 0; h < 2; ++h) {
      const int k = lane % 4 * 2 + h;
      for (int part = 0; part < 2; ++part)
        a[lane / 4 + 8 * part][k] = real_of(mine.a[part] >> (16 * h) & 0xffff, true);
      b[lane / 4][k] = real_of(*mine.b >> (16 * h) & 0xffff, true);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    float* d = static_cast<const EmulatedMmaFloat*>(lanes[lane])->d;
    for (int i = 0; i < 4; ++i)
      d[i] = truncated_sum(d[i], a[lane / 4 + i / 2 * 8], b[lane % 4 * 2 + i % 2], 8, kOtherBits);
  }
}

namespace {

// A lane's word of a matrix of which `rows` are the rows: halves 2q and 2q + 1 (q = lane % 4) of row lane / 4, or of that column.
void read_word(void* to, const unsigned char* const* rows, int lane, bool turned) {
  for (int h = 0; h < 2; ++h) {
    const int along = lane % 4 * 2 + h, row = turned ? along : lane / 4,
              half = turned ? lane / 4 : along;
    std::memcpy(static_cast<unsigned char*>(to) + 2 * h, rows[row] + 2 * half, 2);
  }
}

}  // namespace

float sum_of_16(bool f16, float sum, const unsigned short* a, const unsigned short* b) {
  double left[16], right[16];
  for (int k = 0; k < 16; ++k) left[k] = real_of(a[k], f16), right[k] = real_of(b[k], f16);
  return truncated_sum(sum, left, right, 16, kHopperBits);
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
  for (int lane = 0; lane < 32; ++lane) {
    const EmulatedLdmatrix& mine = *static_cast<EmulatedLdmatrix*>(lanes[lane]);
    for (int i = 0; i < 4; ++i) read_word(mine.d + i, rows + 8 * i, lane, mine.turned);
  }
}

}  // namespace octet::emulator
