// SPDX-License-Identifier: Apache-2.0
// Winograd's convolution F(2x2, 3x3) in integers, with vpmaddwd. Weights are transformed to four times their value, so that
// all numbers are integers; sums wrap, and a quarter of the last one is exact because it is known to fit (winograd.h).
#include "backends/cpu/kernels/codes/conv/finish_avx2.h"
#include "backends/cpu/kernels/codes/conv/winograd_args.h"

namespace octet {
namespace {

// d0 - d2, d1 + d2, d2 - d1, d1 - d3
inline void transform_four(const __m256i d[4], __m256i out[4]) {
  out[0] = _mm256_sub_epi16(d[0], d[2]);
  out[1] = _mm256_add_epi16(d[1], d[2]);
  out[2] = _mm256_sub_epi16(d[2], d[1]);
  out[3] = _mm256_sub_epi16(d[1], d[3]);
}

inline __m256i load_words(const u8* src) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src)));
}

inline void store(s16* dst, __m256i x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), x); }

// Volatile asm stays in order, and multiply() is not inlined: left to itself, g++ 12 loads all tiles first and keeps the
// sums in memory (0.6x).
inline __m256i broadcast_pair(const s16* src) {
  __m256i x;
  asm volatile("vpbroadcastd %1, %0" : "=x"(x) : "m"(*reinterpret_cast<const s16(*)[2]>(src)));
  return x;
}

inline void add_products(__m256i& acc, __m256i x, __m256i w) {
  acc = _mm256_add_epi32(acc, _mm256_madd_epi16(x, w));
  asm volatile("" : "+x"(acc));
}

// One number of the patch: kTiles tiles x 16 channels.
template <int kTiles>
[[gnu::noinline]] void multiply(const s16* patches, s64 channels, const s16* weights, s32* sums) {
  __m256i acc[kTiles][2];
#pragma GCC unroll 8
  for (int m = 0; m < kTiles; ++m) acc[m][0] = acc[m][1] = _mm256_setzero_si256();
  const s16* src[kTiles];
#pragma GCC unroll 8
  for (int m = 0; m < kTiles; ++m) src[m] = patches + m * channels;
  const s64 next =
      16 * channels;  // the next number's weights: those of all may come from beyond L2
  for (s64 k = 0; k < channels; k += 2, weights += 32) {
    const void* at = weights;
    _mm_prefetch(reinterpret_cast<const char*>(weights + next), _MM_HINT_T1);
    const __m256i w0 = _mm256_loadu_si256(static_cast<const __m256i*>(at));
    const __m256i w1 = _mm256_loadu_si256(static_cast<const __m256i*>(at) + 1);
#pragma GCC unroll 8
    for (int m = 0; m < kTiles; ++m) {
      const __m256i x = broadcast_pair(src[m] + k);
      add_products(acc[m][0], x, w0);
      add_products(acc[m][1], x, w1);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kTiles; ++m) {
    void* at = sums + 16 * m;
    _mm256_storeu_si256(static_cast<__m256i*>(at), acc[m][0]);
    _mm256_storeu_si256(static_cast<__m256i*>(at) + 1, acc[m][1]);
  }
}

void multiply_some(s64 tiles, const s16* patches, s64 channels, const s16* weights, s32* sums) {
  switch (tiles) {
    case 1:
      return multiply<1>(patches, channels, weights, sums);
    case 2:
      return multiply<2>(patches, channels, weights, sums);
    case 3:
      return multiply<3>(patches, channels, weights, sums);
    case 4:
      return multiply<4>(patches, channels, weights, sums);
    case 5:
      return multiply<5>(patches, channels, weights, sums);
    default:
      return multiply<6>(patches, channels, weights, sums);
  }
}

// The 2 x 2 sums of 8 channels from their 16 products, each times four. p: first product, stride between products.
inline void outputs_of(const s32* p, s64 stride, __m256i out[4]) {
  __m256i top[4], bottom[4];
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    const auto at = [&](int y) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + (4 * y + x) * stride));
    };
    const __m256i middle = at(1), lower = at(2);
    top[x] = _mm256_add_epi32(at(0), _mm256_add_epi32(middle, lower));
    bottom[x] = _mm256_sub_epi32(_mm256_sub_epi32(middle, lower), at(3));
  }
  out[0] = _mm256_add_epi32(top[0], _mm256_add_epi32(top[1], top[2]));
  out[1] = _mm256_sub_epi32(_mm256_sub_epi32(top[1], top[2]), top[3]);
  out[2] = _mm256_add_epi32(bottom[0], _mm256_add_epi32(bottom[1], bottom[2]));
  out[3] = _mm256_sub_epi32(_mm256_sub_epi32(bottom[1], bottom[2]), bottom[3]);
}

void finish_one(const ConvTile& tile, const s32* sums, s64 stride) {
  __m256i half[2][4];
  outputs_of(sums, stride, half[0]);
  outputs_of(sums + 8, stride, half[1]);
  __m256i acc[4][2];
#pragma GCC unroll 4
  for (int m = 0; m < 4; ++m) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const void* bias = tile.bias + 8 * v;
      acc[m][v] = _mm256_add_epi32(_mm256_srai_epi32(half[v][m], 2),
                                   _mm256_loadu_si256(static_cast<const __m256i*>(bias)));
    }
  }
  finish_tile<4>(tile, 0, acc);
}

}  // namespace

void winograd_input_avx2(const WinogradInput& input) {
  for (s64 c = 0; c < input.channels; c += 16) {
    __m256i rows[4][4];  // after the first transform: [y][x]
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      __m256i d[4], out[4];
      for (int y = 0; y < 4; ++y) d[y] = load_words(input.rows[y] + input.columns[x] + c);
      transform_four(d, out);
      for (int y = 0; y < 4; ++y) rows[y][x] = out[y];
    }
    s16* dst = input.dst + c;
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      __m256i out[4];
      transform_four(rows[y], out);
      for (int x = 0; x < 4; ++x) store(dst + (4 * y + x) * input.patch_stride, out[x]);
    }
  }
}

void winograd_block_avx2(const WinogradBlock& block) {
  const s64 sums_stride = (block.tiles + kWinogradTiles - 1) / kWinogradTiles * kWinogradTiles * 16;
  for (s64 p = 0; p < kWinogradPatch; ++p) {
    const s16* patches = block.patches + p * block.patch_stride;
    for (s64 t = 0; t < block.tiles; t += kWinogradTiles) {
      multiply_some(block.tiles - t, patches + t * block.channels, block.channels,
                    block.weights + p * 16 * block.channels, block.sums + p * sums_stride + t * 16);
    }
  }
  ConvTile tile = block.output;
  for (s64 t = 0; t < block.tiles; ++t) {
    tile.dst = block.dst + 4 * t;
    if (block.residual != nullptr) tile.residual = block.residual + 4 * t;
    finish_one(tile, block.sums + t * 16, sums_stride);
  }
}

}  // namespace octet
