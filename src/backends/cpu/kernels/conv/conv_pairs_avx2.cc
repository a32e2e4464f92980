// SPDX-License-Identifier: Apache-2.0
// Convolution with vpmaddubsw where it cannot saturate (conv_pairs.h): 6 pixels x 16 channels. Three instructions for 32
// products, against four with vpmaddwd, and nothing is widened.
#include "backends/cpu/kernels/conv/conv_pixels.h"
#include "backends/cpu/kernels/conv/finish_avx2.h"

namespace octet {
namespace {

inline __m256i broadcast4(const u8* src) {
  s32 bytes;
  memcpy(&bytes, src, sizeof(bytes));
  return _mm256_set1_epi32(bytes);
}

// Activations in the byte order of a pairing.
template <int kPairing>
inline __m256i paired(__m256i x) {
  if constexpr (kPairing == 0) return x;
  const s32 first = kPairing == 1 ? 0x03010200 : 0x02010300;
  const __m256i order = _mm256_add_epi32(_mm256_set1_epi32(first),
                                         _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0,
                                                           0x04040404, 0x08080808, 0x0c0c0c0c));
  return _mm256_shuffle_epi8(x, order);
}

// The empty asm keeps the order of the additions, see conv_avx2.cc.
inline void add_products(__m256i& acc, __m256i x, const s8* weights) {
  const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
  const __m256i pairs = _mm256_maddubs_epi16(x, w);
  acc = _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  asm("" : "+x"(acc));
}

struct Cursor {
  const s64* offsets;
  const s8* weights;
};

template <int kPixels, int kPairing>
[[gnu::always_inline]] inline void steps(const u8* const src[kPixels], s64 count, Cursor& at,
                                         __m256i acc[kPixels][2]) {
  for (s64 k = 0; k < count; ++k, ++at.offsets, at.weights += kConvLanes * kConvChunk) {
    const s64 offset = *at.offsets;
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m) {
      const __m256i x = paired<kPairing>(broadcast4(src[m] + offset));
      add_products(acc[m][0], x, at.weights);
      add_products(acc[m][1], x, at.weights + 32);
    }
  }
}

// Steps of 8 channels, see conv_pairs.h.
template <int kPixels, int kHalf>
[[gnu::always_inline]] inline void half_steps(const u8* const src[kPixels], s64 count, Cursor& at,
                                              __m256i acc[kPixels][2]) {
  for (s64 k = 0; k < count; ++k, ++at.offsets, at.weights += kConvLanes * kConvChunk / 2) {
    const s64 offset = *at.offsets;
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m)
      add_products(acc[m][kHalf], broadcast4(src[m] + offset), at.weights);
  }
}

template <int kPixels>
void block(const ConvTile& tile, s64 c) {
  const ConvPairBlock& pairs = tile.pair_blocks[c / kConvLanes];
  __m256i acc[kPixels][2];
  start_tile<kPixels>(tile, c, acc);
  const u8* src[kPixels];
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) src[m] = tile.src[m];
  Cursor at{tile.offsets + pairs.first_offset,
            static_cast<const s8*>(tile.weights) + pairs.first_weight};
  steps<kPixels, 0>(src, pairs.steps[0], at, acc);
  steps<kPixels, 1>(src, pairs.steps[1], at, acc);
  steps<kPixels, 2>(src, pairs.steps[2], at, acc);
  half_steps<kPixels, 0>(src, pairs.steps[3], at, acc);
  half_steps<kPixels, 1>(src, pairs.steps[4], at, acc);
  finish_tile<kPixels>(tile, c, acc);
}

template <int kPixels>
void row(const ConvTile& tile) {
  for (s64 c = 0; c < tile.channels; c += kConvLanes) block<kPixels>(tile, c);
}

}  // namespace

void conv_u8s8_6x16_pairs_avx2(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<decltype(n)::kPixels>(tile); });
}

}  // namespace octet
