// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/recurrent_codes.h"
#include "backends/cpu/kernels/float/vec_avx2.h"

namespace octet {
namespace {

constexpr int kMostBlocks = 2;  // by several vectors: 16 registers hold their sums and operands

inline I i_load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
// Pairs of s16, whose products fit.
inline I add_products(I sum, I codes, I weights) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(codes, weights));
}

// Integral reals of 0 to 255.
inline void store_codes(int* out, long i, V x) {
  const I codes = _mm256_cvtps_epi32(x);
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  void* at = reinterpret_cast<short*>(out) + i;
  _mm_storeu_si128(static_cast<__m128i*>(at), words);
}

inline void place(int* out, const unsigned char* codes, long count) {
  short* words = reinterpret_cast<short*>(out);
  long i = 0;
  for (; i + 8 <= count; i += 8) {
    const void* from = codes + i;
    void* to = words + i;
    const __m128i eight = _mm_loadl_epi64(static_cast<const __m128i*>(from));
    _mm_storeu_si128(static_cast<__m128i*>(to), _mm_cvtepu8_epi16(eight));
  }
  for (; i < count; ++i) words[i] = codes[i];
  if (i % 2 != 0) words[i] = 0;
}

}  // namespace
}  // namespace octet

#define OCTET_ISA(name) name##_avx2
#include "backends/cpu/kernels/float/recurrent_codes_body.h"
