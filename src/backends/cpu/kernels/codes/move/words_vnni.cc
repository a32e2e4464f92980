// SPDX-License-Identifier: Apache-2.0
// Blocks of 16 x 16 words in sixteen registers; what a block lacks is masked.
#include <immintrin.h>

#include "backends/cpu/kernels/codes/move/words.h"

namespace octet {
namespace {

constexpr long kSide = 16;
constexpr bool kFastEdges = true;

struct Extent {
  long rows, columns;
};

inline long least(long a, long b) { return a < b ? a : b; }

inline __mmask16 first_words(long n) { return static_cast<__mmask16>((1u << n) - 1u); }

// Of four registers each 128 bits a 4 x 4 block, turned.
inline void turn_fours(__m512i* r) {
  const __m512i a = _mm512_maskz_unpacklo_epi32(0xffff, r[0], r[1]);
  const __m512i b = _mm512_maskz_unpackhi_epi32(0xffff, r[0], r[1]);
  const __m512i c = _mm512_maskz_unpacklo_epi32(0xffff, r[2], r[3]);
  const __m512i d = _mm512_maskz_unpackhi_epi32(0xffff, r[2], r[3]);
  r[0] = _mm512_maskz_unpacklo_epi64(0xff, a, c);
  r[1] = _mm512_maskz_unpackhi_epi64(0xff, a, c);
  r[2] = _mm512_maskz_unpacklo_epi64(0xff, b, d);
  r[3] = _mm512_maskz_unpackhi_epi64(0xff, b, d);
}

// The 128-bit parts of registers i, i + 4, i + 8 and i + 12 as a 4 x 4 block, turned.
inline void turn_parts(__m512i* r) {
  const __m512i a = _mm512_maskz_shuffle_i32x4(0xffff, r[0], r[4], 0x88);
  const __m512i b = _mm512_maskz_shuffle_i32x4(0xffff, r[0], r[4], 0xdd);
  const __m512i c = _mm512_maskz_shuffle_i32x4(0xffff, r[8], r[12], 0x88);
  const __m512i d = _mm512_maskz_shuffle_i32x4(0xffff, r[8], r[12], 0xdd);
  r[0] = _mm512_maskz_shuffle_i32x4(0xffff, a, c, 0x88);
  r[4] = _mm512_maskz_shuffle_i32x4(0xffff, b, d, 0x88);
  r[8] = _mm512_maskz_shuffle_i32x4(0xffff, a, c, 0xdd);
  r[12] = _mm512_maskz_shuffle_i32x4(0xffff, b, d, 0xdd);
}

inline void turn(const unsigned* from, long from_stride, unsigned* to, long to_stride,
                 Extent extent) {
  __m512i r[kSide];
  const __mmask16 in = first_words(extent.columns), out = first_words(extent.rows);
  const unsigned* row = from;
#pragma GCC unroll 16
  for (long i = 0; i < kSide; ++i) {
    r[i] = _mm512_maskz_loadu_epi32(in, row);
    // The last row again where there is none: a load from memory that is not mapped takes long, whatever its mask.
    if (i + 1 < extent.rows) row += from_stride;
  }
#pragma GCC unroll 4
  for (long i = 0; i < kSide; i += 4) turn_fours(r + i);
#pragma GCC unroll 4
  for (long i = 0; i < 4; ++i) turn_parts(r + i);
#pragma GCC unroll 16
  for (long i = 0; i < kSide; ++i) {
    if (i < extent.columns) _mm512_mask_storeu_epi32(to + i * to_stride, out, r[i]);
  }
}

}  // namespace
}  // namespace octet

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/codes/move/words_body.h"
