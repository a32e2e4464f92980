// SPDX-License-Identifier: Apache-2.0
// F16C: eight values at a time; rounding to nearest, ties to even, as core's f16.
#include <immintrin.h>

#include "backends/cpu/kernels/float/cast.h"

namespace octet {
namespace {

unsigned short bf16_of(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>((bits >> 16) | 0x40u);
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Eight values, each in the low half of its lane.
__m256i bf16_lanes(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i near = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(near, quiet, nan), 16);
}

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

}  // namespace

void cast_f16_to_f32_avx2(const CastArgs* args) {
  const unsigned short* src = static_cast<const unsigned short*>(args->src);
  float* dst = static_cast<float*>(args->dst);
  long i = 0;
  for (; i + 8 <= args->count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i));
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(half));
  }
  for (; i < args->count; ++i) dst[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(src[i])));
}

void cast_f32_to_f16_avx2(const CastArgs* args) {
  const float* src = static_cast<const float*>(args->src);
  unsigned short* dst = static_cast<unsigned short*>(args->dst);
  long i = 0;
  for (; i + 8 <= args->count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(src + i), kNearest);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i), half);
  }
  for (; i < args->count; ++i) {
    const __m128i half = _mm_cvtps_ph(_mm_set_ss(src[i]), kNearest);
    dst[i] = static_cast<unsigned short>(_mm_cvtsi128_si32(half));
  }
}

void cast_f32_to_bf16_avx2(const CastArgs* args) {
  const float* src = static_cast<const float*>(args->src);
  unsigned short* dst = static_cast<unsigned short*>(args->dst);
  long i = 0;
  for (; i + 16 <= args->count; i += 16) {
    const __m256i low = bf16_lanes(_mm256_loadu_ps(src + i));
    const __m256i high = bf16_lanes(_mm256_loadu_ps(src + i + 8));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), words);
  }
  for (; i < args->count; ++i) dst[i] = bf16_of(src[i]);
}

}  // namespace octet
