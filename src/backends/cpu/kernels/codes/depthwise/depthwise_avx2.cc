// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution with vpmaddwd, 16 channels at a time, two taps in each instruction.
#include "backends/cpu/kernels/codes/depthwise/depthwise_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

constexpr s64 kBlock = 16;

// Walks the taps of a window in row-major order.
struct Tap {
  s64 x = 0, y = 0;

  s64 offset(const DepthwiseRow& row) const {
    return y * row.tap_y + x * row.dilation_x * row.column;
  }
  void next(const DepthwiseRow& row) {
    if (++x < row.kernel_x) return;
    x = 0;
    ++y;
  }
};

inline __m256i widen(const u8* src, s64 channels) {
  return _mm256_cvtepu8_epi16(load_bytes16(src, channels));
}

// Weights: [tap pairs][2 registers][8][2] s16; the second tap of an odd last pair has weight 0.
inline void accumulate(const DepthwiseRow& row, const u8* src, s64 channels, const s16* weights,
                       __m256i acc[2]) {
  const s64 taps = row.kernel_y * row.kernel_x;
  Tap tap;
  for (s64 i = 0; i < taps; i += 2, weights += 2 * kBlock) {
    const __m256i a = widen(src + tap.offset(row), channels);
    tap.next(row);
    __m256i b = _mm256_setzero_si256();
    if (i + 1 < taps) {
      b = widen(src + tap.offset(row), channels);
      tap.next(row);
    }
    const void* at = weights;
    const __m256i w0 = _mm256_loadu_si256(static_cast<const __m256i*>(at));
    const __m256i w1 = _mm256_loadu_si256(static_cast<const __m256i*>(at) + 1);
    acc[0] = _mm256_add_epi32(acc[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w0));
    acc[1] = _mm256_add_epi32(acc[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w1));
  }
}

// Lanes hold channels 0-3 | 8-11 in t[0] and 4-7 | 12-15 in t[1].
void store_real(const EpilogueArgs& e, const __m256 t[2], f32* dst, s64 channels) {
  f32 y[2][8];
  for (int j = 0; j < 2; ++j) _mm256_storeu_ps(y[j], e.clip ? clip(e, t[j]) : t[j]);
  for (s64 c = 0; c < kBlock && c < channels; ++c) dst[c] = y[c / 4 % 2][c / 8 * 4 + c % 4];
}

inline void finish(const DepthwiseRow& row, s64 pixel, s64 channel, const __m256i acc[2]) {
  const EpilogueArgs& e = *row.epilogue;
  const s64 channels = row.channels - channel;
  __m256 t[2];
  for (int j = 0; j < 2; ++j) {
    const __m256 multiplier = _mm256_loadu_ps(row.multiplier + channel + 8 * j);
    t[j] = _mm256_mul_ps(_mm256_cvtepi32_ps(acc[j]), multiplier);
  }
  if (row.residual != nullptr) {
    const __m256i r = widen(row.residual + pixel * row.residual_stride + channel, channels);
    const __m256i zero = _mm256_setzero_si256();
    t[0] = add_residual(e, t[0], _mm256_unpacklo_epi16(r, zero));
    t[1] = add_residual(e, t[1], _mm256_unpackhi_epi16(r, zero));
  }
  if (e.leaky) {
    for (int j = 0; j < 2; ++j) t[j] = leaky(t[j], e.alpha);
  }
  u8* dst = row.dst + pixel * row.dst_stride;
  if (e.real) return store_real(e, t, reinterpret_cast<f32*>(dst) + channel, channels);
  const __m256 four[4] = {t[0], t[1], t[0], t[1]};
  const __m256i codes = final_codes(e, four);
  const __m128i in_order =
      _mm_unpacklo_epi64(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  store_bytes16(in_order, dst + channel, channels);
}

}  // namespace

void depthwise_u8s8_16_avx2(const DepthwiseRow& row) {
  const s64 pairs = (row.kernel_y * row.kernel_x + 1) / 2;
  const s16* weights = static_cast<const s16*>(row.weights);
  for (s64 c = 0; c < row.channels; c += kBlock, weights += pairs * 2 * kBlock) {
    for (s64 m = 0; m < row.pixels; ++m) {
      __m256i acc[2];
      for (int j = 0; j < 2; ++j) {
        const void* bias = row.bias + c + 8 * j;
        acc[j] = _mm256_loadu_si256(static_cast<const __m256i*>(bias));
      }
      accumulate(row, row.src + m * row.stride_x * row.column + c, row.channels - c, weights, acc);
      finish(row, m, c, acc);
    }
  }
}

}  // namespace octet
