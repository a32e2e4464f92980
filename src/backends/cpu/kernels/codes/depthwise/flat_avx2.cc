// SPDX-License-Identifier: Apache-2.0
// 3x3 depthwise convolution with vpmaddwd, exact for every u8 and weight of nine bits: the first two taps of a row are a pair of words, the
// third is paired with a zero.
#include "backends/cpu/kernels/codes/depthwise/flat_ymm.h"

namespace octet {
namespace {

class WordProduct {
 public:
  struct Row {
    __m256i ab[4];  // taps 0 and 1
    __m256i c[4];   // tap 2 and a zero
  };

  WordProduct(const FlatConstants& constants, s64 first) {
    for (int y = 0; y < 3; ++y) {
      for (int j = 0; j < 4; ++j) {
        __m256i rest_ab, rest_c;
        read(constants.weights[y][j] + first, ab_[y][j], c_[y][j]);
        read(constants.rest[y][j] + first, rest_ab, rest_c);
        ab_[y][j] = _mm256_add_epi16(ab_[y][j], rest_ab);
        c_[y][j] = _mm256_add_epi16(c_[y][j], rest_c);
      }
    }
  }

  static Row interleaved(__m256i x0, __m256i x1, __m256i x2) {
    Row row;
    const __m256i zero = _mm256_setzero_si256();
    widen_in_lanes(x2, row.c);
    const __m256i lo = _mm256_unpacklo_epi8(x0, x1), hi = _mm256_unpackhi_epi8(x0, x1);
    row.ab[0] = _mm256_unpacklo_epi8(lo, zero);
    row.ab[1] = _mm256_unpackhi_epi8(lo, zero);
    row.ab[2] = _mm256_unpacklo_epi8(hi, zero);
    row.ab[3] = _mm256_unpackhi_epi8(hi, zero);
    return row;
  }

  void add(Sums& sums, const Row& x, int y) const {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m256i ab = _mm256_madd_epi16(x.ab[j], ab_[y][j]);
      const __m256i c = _mm256_madd_epi16(x.c[j], c_[y][j]);
      sums.r[j] = _mm256_add_epi32(sums.r[j], _mm256_add_epi32(ab, c));
    }
  }

 private:
  // Bytes of taps 0 1 2 - as words.
  static void read(const s8* taps, __m256i& ab, __m256i& c) {
    const void* at = taps;
    const __m256i w = _mm256_loadu_si256(static_cast<const __m256i*>(at));
    const __m256i odd = _mm256_slli_epi32(_mm256_srai_epi16(w, 8), 16);
    ab = _mm256_blend_epi16(even_bytes(w), odd, 0xaa);
    c = even_bytes(_mm256_srli_epi32(w, 16));
  }
  static __m256i even_bytes(__m256i w) { return _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8); }

  __m256i ab_[3][4];
  __m256i c_[3][4];
};

}  // namespace

void depthwise_u8s8_3x3_avx2(const FlatColumn& column) { run_flat<WordProduct>(column); }

}  // namespace octet
