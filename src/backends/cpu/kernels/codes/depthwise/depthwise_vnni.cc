// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution with vpdpbusd, 64 channels at a time. Four taps of a column are interleaved once and then serve
// every output pixel whose window covers the column: 8 unpacks for each column instead of 8 for each pixel and column.
#include "backends/cpu/kernels/codes/depthwise/depthwise_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

constexpr s64 kBlock = 64;
constexpr s64 kTaps = 4;
constexpr s64 kBytes = kBlock * kTaps;  // of one interleaved column and of one weight step

// [4 registers][4 lanes][4 channels][4 taps]
inline void interleave(const __m512i tap[4], u8* dst) {
  const __m512i a = _mm512_unpacklo_epi8(tap[0], tap[1]);
  const __m512i b = _mm512_unpackhi_epi8(tap[0], tap[1]);
  const __m512i c = _mm512_unpacklo_epi8(tap[2], tap[3]);
  const __m512i d = _mm512_unpackhi_epi8(tap[2], tap[3]);
  _mm512_storeu_si512(dst, _mm512_unpacklo_epi16(a, c));
  _mm512_storeu_si512(dst + 64, _mm512_unpackhi_epi16(a, c));
  _mm512_storeu_si512(dst + 128, _mm512_unpacklo_epi16(b, d));
  _mm512_storeu_si512(dst + 192, _mm512_unpackhi_epi16(b, d));
}

// scratch: [tap groups][columns][kBytes]
void interleave_columns(const DepthwiseRow& row, s64 channel, __mmask64 mask) {
  u8* dst = static_cast<u8*>(row.scratch);
  for (s64 y = 0; y < row.kernel_y; y += kTaps) {
    const u8* src = row.src + channel + y * row.tap_y;
    for (s64 column = 0; column < row.columns; ++column, src += row.column, dst += kBytes) {
      __m512i tap[4];
      for (s64 i = 0; i < kTaps; ++i) {
        tap[i] = y + i < row.kernel_y ? _mm512_maskz_loadu_epi8(mask, src + i * row.tap_y)
                                      : _mm512_setzero_si512();
      }
      interleave(tap, dst);
    }
  }
}

void store_real(const DepthwiseRow& row, const __m512 t[4], f32* dst, s64 channels) {
  const EpilogueArgs& e = *row.epilogue;
  f32 y[4][16];
  for (int j = 0; j < 4; ++j) _mm512_storeu_ps(y[j], e.clip ? clip(e, t[j]) : t[j]);
  for (s64 c = 0; c < kBlock && c < channels; ++c) dst[c] = y[c / 4 % 4][c / 16 * 4 + c % 4];
}

inline void finish(const DepthwiseRow& row, s64 pixel, s64 channel, const __m512i acc[4]) {
  const EpilogueArgs& e = *row.epilogue;
  const __mmask64 mask = first_lanes64(row.channels - channel);
  __m512 t[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 multiplier = _mm512_loadu_ps(row.multiplier + channel + 16 * j);
    t[j] = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[j]), multiplier);
  }
  if (row.residual != nullptr) {
    const u8* residual = row.residual + pixel * row.residual_stride + channel;
    __m512i r[4];
    widen_in_lanes(_mm512_maskz_loadu_epi8(mask, residual), r);
    for (int j = 0; j < 4; ++j) t[j] = add_residual(e, t[j], r[j]);
  }
  if (e.leaky) {
    for (int j = 0; j < 4; ++j) t[j] = leaky(t[j], e.alpha);
  }
  u8* dst = row.dst + pixel * row.dst_stride;
  if (e.real) {
    store_real(row, t, reinterpret_cast<f32*>(dst) + channel, row.channels - channel);
    return;
  }
  _mm512_mask_storeu_epi8(dst + channel, mask, final_codes(e, t));
}

// Adds one part of the weights, and moves them on to the next.
template <int kPixels>
[[gnu::always_inline]] inline void add_part(const DepthwiseRow& row, s64 first, const u8*& weights,
                                            __m512i acc[kPixels][4]) {
  const u8* group = static_cast<const u8*>(row.scratch) + first * row.stride_x * kBytes;
  const s64 step = row.stride_x * kBytes;
  for (s64 y = 0; y < row.kernel_y; y += kTaps, group += row.columns * kBytes) {
    const u8* src = group;
    for (s64 x = 0; x < row.kernel_x; ++x, src += row.dilation_x * kBytes, weights += kBytes) {
      __m512i w[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) w[j] = _mm512_loadu_si512(weights + 64 * j);
#pragma GCC unroll 4
      for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          dot4(acc[m][j], _mm512_loadu_si512(src + m * step + 64 * j), w[j]);
        }
      }
    }
  }
}

template <int kPixels>
void pixels(const DepthwiseRow& row, s64 first, s64 channel, const u8* weights) {
  __m512i acc[kPixels][4];
#pragma GCC unroll 4
  for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc[m][j] = _mm512_loadu_si512(row.bias + channel + 16 * j);
  }
  for (s64 part = 0; part < row.parts; ++part) add_part<kPixels>(row, first, weights, acc);
#pragma GCC unroll 4
  for (int m = 0; m < kPixels; ++m) finish(row, first + m, channel, acc[m]);
}

}  // namespace

// Weights: [channels / 64][parts][tap groups][kernel_x][kBytes], bias and multiplier [channels / 64][4][16].
void depthwise_u8s8_64_vnni(const DepthwiseRow& row) {
  const s64 groups = (row.kernel_y + kTaps - 1) / kTaps;
  const u8* weights = static_cast<const u8*>(row.weights);
  const s64 block_bytes = row.parts * groups * row.kernel_x * kBytes;
  for (s64 c = 0; c < row.channels; c += kBlock, weights += block_bytes) {
    interleave_columns(row, c, first_lanes64(row.channels - c));
    s64 m = 0;
    for (; m + 4 <= row.pixels; m += 4) pixels<4>(row, m, c, weights);
    for (; m < row.pixels; ++m) pixels<1>(row, m, c, weights);
  }
}

}  // namespace octet
