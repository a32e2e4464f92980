// SPDX-License-Identifier: Apache-2.0
// f32 -> 16-bit codes, and back, 8 at a time.
#include "backends/cpu/kernels/codes/quantize/blocks.h"
#include "backends/cpu/kernels/codes/quantize/quantize_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

// Of full registers; a rest is copied through one.
inline __m128i wide_codes8(const QuantizeWideRun& run, const f32* src) {
  const __m256 lo = _mm256_set1_ps(static_cast<f32>(run.lowest - run.zero_point));
  const __m256 hi = _mm256_set1_ps(static_cast<f32>(run.lowest + 65535 - run.zero_point));
  const __m256 x = _mm256_div_ps(_mm256_loadu_ps(src), _mm256_set1_ps(run.scale));
  // The code of 0 is that of NaN.
  const __m256 number = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
  const __m256 t = _mm256_min_ps(_mm256_max_ps(number, lo), hi);
  // From the lowest code on, so that both types are packed as u16.
  const __m256i from_lowest =
      _mm256_add_epi32(_mm256_cvtps_epi32(t), _mm256_set1_epi32(run.zero_point - run.lowest));
  const __m256i words = _mm256_packus_epi32(from_lowest, from_lowest);
  const __m128i codes =
      _mm_unpacklo_epi64(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  return _mm_add_epi16(codes, _mm_set1_epi16(static_cast<s16>(run.lowest)));
}

inline __m256 wide_reals8(const DequantizeWideRun& run, const u16* src) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
  const __m256i q = run.is_signed ? _mm256_cvtepi16_epi32(codes) : _mm256_cvtepu16_epi32(codes);
  const __m256 x = _mm256_cvtepi32_ps(_mm256_sub_epi32(q, _mm256_set1_epi32(run.zero_point)));
  return _mm256_mul_ps(x, _mm256_set1_ps(run.scale));
}

}  // namespace

void quantize_f32_wide_avx2(const QuantizeWideRun& run) {
  in_blocks<8>(run.src, run.dst, run.count, [&](const f32* src, u16* dst) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), wide_codes8(run, src));
  });
}

void dequantize_wide_f32_avx2(const DequantizeWideRun& run) {
  in_blocks<8>(run.src, run.dst, run.count,
               [&](const u16* src, f32* dst) { _mm256_storeu_ps(dst, wide_reals8(run, src)); });
}

}  // namespace octet
