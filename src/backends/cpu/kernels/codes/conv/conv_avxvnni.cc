// SPDX-License-Identifier: Apache-2.0
// Convolution with the 256-bit vpdpbusd of processors without AVX-512: 6 pixels x 16 channels, 12 accumulators.
#include "backends/cpu/kernels/codes/conv/conv_pixels.h"
#include "backends/cpu/kernels/codes/conv/finish_avx2.h"

namespace octet {
namespace {

// acc += sums of four u8 * s8. Written as asm for the reason given in simd_vnni.h; without {vex} the assembler takes the
// AVX-512 form.
inline void dot4(__m256i& acc, __m256i u, __m256i s) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(u), "x"(s));
}

inline __m256i broadcast4(const u8* src) {
  s32 bytes;
  memcpy(&bytes, src, sizeof(bytes));
  return _mm256_set1_epi32(bytes);
}

constexpr s64 kAhead = 4096;  // bytes of weights: those of large layers come from beyond L2

// Weights: [channels/16][chunks][16][4] s8
template <int kPixels>
void block(const ConvTile& tile, s64 c) {
  __m256i acc[kPixels][2];
  start_tile<kPixels>(tile, c, acc);
  const u8* src[kPixels];
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) src[m] = tile.src[m];
  const s8* weights = static_cast<const s8*>(tile.weights) + c * tile.chunks * kConvChunk;
  for (s64 k = 0; k < tile.chunks; ++k, weights += kConvLanes * kConvChunk) {
    const s64 offset = tile.offsets[k];
    _mm_prefetch(reinterpret_cast<const char*>(weights + kAhead), _MM_HINT_T0);
    const void* at = weights;
    const __m256i w0 = _mm256_loadu_si256(static_cast<const __m256i*>(at));
    const __m256i w1 = _mm256_loadu_si256(static_cast<const __m256i*>(at) + 1);
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m) {
      const __m256i x = broadcast4(src[m] + offset);
      dot4(acc[m][0], x, w0);
      dot4(acc[m][1], x, w1);
    }
  }
  finish_tile<kPixels>(tile, c, acc);
}

template <int kPixels>
void row(const ConvTile& tile) {
  for (s64 c = 0; c < tile.channels; c += kConvLanes) block<kPixels>(tile, c);
}

}  // namespace

void conv_u8s8_6x16_avxvnni(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<decltype(n)::kPixels>(tile); });
}

}  // namespace octet
