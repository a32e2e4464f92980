// SPDX-License-Identifier: Apache-2.0
// F16C: eight values at a time; rounding to nearest, ties to even, as core's f16.
#include <immintrin.h>

#include "backends/cpu/kernels/float/cast.h"

namespace octet {
namespace {

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

}  // namespace octet
