// SPDX-License-Identifier: Apache-2.0
// Blocks of 8 x 8 words in eight registers; smaller ones element by element.
#include <immintrin.h>

#include "backends/cpu/kernels/codes/move/words.h"

namespace octet {
namespace {

constexpr long kSide = 8;
constexpr bool kFastEdges = false;

struct Extent {
  long rows, columns;
};

inline long least(long a, long b) { return a < b ? a : b; }

// Of four registers each 128 bits a 4 x 4 block, turned.
inline void turn_fours(__m256i* r) {
  const __m256i a = _mm256_unpacklo_epi32(r[0], r[1]), b = _mm256_unpackhi_epi32(r[0], r[1]);
  const __m256i c = _mm256_unpacklo_epi32(r[2], r[3]), d = _mm256_unpackhi_epi32(r[2], r[3]);
  r[0] = _mm256_unpacklo_epi64(a, c);
  r[1] = _mm256_unpackhi_epi64(a, c);
  r[2] = _mm256_unpacklo_epi64(b, d);
  r[3] = _mm256_unpackhi_epi64(b, d);
}

inline void turn(const unsigned* from, long from_stride, unsigned* to, long to_stride, Extent) {
  __m256i r[kSide];
#pragma GCC unroll 8
  for (long i = 0; i < kSide; ++i)
    r[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * from_stride));
  turn_fours(r);
  turn_fours(r + 4);
#pragma GCC unroll 4
  for (long i = 0; i < 4; ++i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * to_stride),
                        _mm256_permute2x128_si256(r[i], r[i + 4], 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (i + 4) * to_stride),
                        _mm256_permute2x128_si256(r[i], r[i + 4], 0x31));
  }
}

}  // namespace
}  // namespace octet

#define OCTET_ISA(name) name##_avx2
#include "backends/cpu/kernels/codes/move/words_body.h"
