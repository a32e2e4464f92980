// SPDX-License-Identifier: Apache-2.0
// Convolution with vpmaddwd: 6 pixels x 16 channels, exact for every u8 and s8. Weights are packed as s16; activations are
// widened once for all channels. For weights that are packed at run time; others have conv_pairs_avx2.cc.
#include "backends/cpu/kernels/codes/conv/conv_pixels.h"
#include "backends/cpu/kernels/codes/conv/finish_avx2.h"

namespace octet {
namespace {

// scratch: [chunks][kPixels][4] s16
template <int kPixels>
void widen(const ConvTile& tile) {
  s16* wide = static_cast<s16*>(tile.scratch);
  for (s64 k = 0; k < tile.chunks; ++k) {
    for (int m = 0; m < kPixels; ++m) {
      s32 bytes;
      memcpy(&bytes, tile.src[m] + tile.offsets[k], sizeof(bytes));
      const __m128i words = _mm_cvtepu8_epi16(_mm_cvtsi32_si128(bytes));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(wide), words);
      wide += kConvChunk;
    }
  }
}

inline __m256i broadcast_pair(const s16* src) {
  s32 pair;
  memcpy(&pair, src, sizeof(pair));
  return _mm256_set1_epi32(pair);
}

// The empty asm keeps the order of the additions: reordered, g++ 12 spills nine of the twelve accumulators (0.76x).
inline void add_products(__m256i& acc, __m256i x, __m256i w) {
  acc = _mm256_add_epi32(acc, _mm256_madd_epi16(x, w));
  asm("" : "+x"(acc));
}

// Weights: [channels/16][chunks * 2][16][2] s16
template <int kPixels>
void block(const ConvTile& tile, s64 c) {
  __m256i acc[kPixels][2];
  start_tile<kPixels>(tile, c, acc);
  const s16* weights = static_cast<const s16*>(tile.weights) + c * tile.chunks * kConvChunk;
  const s16* src = static_cast<const s16*>(tile.scratch);
  for (s64 k = 0; k < tile.chunks; ++k, src += kConvChunk * kPixels) {
#pragma GCC unroll 2
    for (int pair = 0; pair < 2; ++pair, weights += 32) {
      const void* at = weights;
      const __m256i w0 = _mm256_loadu_si256(static_cast<const __m256i*>(at));
      const __m256i w1 = _mm256_loadu_si256(static_cast<const __m256i*>(at) + 1);
#pragma GCC unroll 8
      for (int m = 0; m < kPixels; ++m) {
        const __m256i x = broadcast_pair(src + kConvChunk * m + 2 * pair);
        add_products(acc[m][0], x, w0);
        add_products(acc[m][1], x, w1);
      }
    }
  }
  finish_tile<kPixels>(tile, c, acc);
}

template <int kPixels>
void row(const ConvTile& tile) {
  widen<kPixels>(tile);
  for (s64 c = 0; c < tile.channels; c += kConvLanes) block<kPixels>(tile, c);
}

}  // namespace

void conv_u8s8_6x16_avx2(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<decltype(n)::kPixels>(tile); });
}

}  // namespace octet
