// SPDX-License-Identifier: Apache-2.0
// f32 -> u8, and back, 16 at a time.
#include "backends/cpu/kernels/codes/quantize/blocks.h"
#include "backends/cpu/kernels/codes/quantize/quantize_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

// The code of 0 is that of NaN: x where it is a number, else 0.
inline __m256 number(__m256 x) { return _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q)); }

// Bounds keep the sums of codes and zero points within s16; packing saturates them to codes.
inline __m256i near_codes8(const QuantizeRun& run, const f32* src) {
  const __m256 reciprocal = _mm256_set1_ps(run.near.reciprocal);
  const __m256 x = _mm256_max_ps(number(_mm256_loadu_ps(src)), _mm256_set1_ps(run.near.lowest));
  const __m256 inside = _mm256_min_ps(x, _mm256_set1_ps(run.near.highest));
  const __m256 t = _mm256_mul_ps(inside, reciprocal);
  const __m256 rest = _mm256_fnmadd_ps(t, _mm256_set1_ps(run.scale), inside);
  const __m256i n = _mm256_cvtps_epi32(_mm256_fmadd_ps(rest, reciprocal, t));
  return _mm256_add_epi32(n, _mm256_set1_epi32(run.zero_point));
}

inline __m256i codes8(const QuantizeRun& run, const f32* src) {
  if (run.near.reciprocal != 0.0f) return near_codes8(run, src);
  const __m256 lo = _mm256_set1_ps(static_cast<f32>(-run.zero_point));
  const __m256 hi = _mm256_set1_ps(static_cast<f32>(255 - run.zero_point));
  const __m256 x = _mm256_div_ps(_mm256_loadu_ps(src), _mm256_set1_ps(run.scale));
  const __m256 t = _mm256_min_ps(_mm256_max_ps(number(x), lo), hi);
  return _mm256_add_epi32(_mm256_cvtps_epi32(t), _mm256_set1_epi32(run.zero_point));
}

inline void quantize16(const QuantizeRun& run, const f32* src, u8* dst) {
  const __m256i words = _mm256_packs_epi32(codes8(run, src), codes8(run, src + 8));
  const __m256i bytes = _mm256_packus_epi16(words, words);
  const __m128i codes =
      _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), codes);
}

inline void dequantize8(const DequantizeRun& run, const u8* src, f32* dst) {
  const __m256i q = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(src)));
  const __m256 x = _mm256_cvtepi32_ps(_mm256_sub_epi32(q, _mm256_set1_epi32(run.zero_point)));
  _mm256_storeu_ps(dst, _mm256_mul_ps(x, _mm256_set1_ps(run.scale)));
}

}  // namespace

void quantize_f32_u8_avx2(const QuantizeRun& run) {
  in_blocks<16>(run.src, run.dst, run.count,
                [&](const f32* src, u8* dst) { quantize16(run, src, dst); });
}

void dequantize_u8_f32_avx2(const DequantizeRun& run) {
  in_blocks<8>(run.src, run.dst, run.count,
               [&](const u8* src, f32* dst) { dequantize8(run, src, dst); });
}

}  // namespace octet
