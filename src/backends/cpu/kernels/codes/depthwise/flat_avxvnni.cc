// SPDX-License-Identifier: Apache-2.0
// 3x3 depthwise convolution with the 256-bit vpdpbusd: three taps and a zero to four bytes, as in flat_vnni.cc.
#include "backends/cpu/kernels/codes/depthwise/flat_ymm.h"

namespace octet {
namespace {

template <bool kWide>
class DotProduct {
 public:
  struct Row {
    __m256i r[4];
  };

  DotProduct(const FlatConstants& constants, s64 first) : constants_(constants), first_(first) {}

  static Row interleaved(__m256i x0, __m256i x1, __m256i x2) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i a = _mm256_unpacklo_epi8(x0, x1), b = _mm256_unpackhi_epi8(x0, x1);
    const __m256i c = _mm256_unpacklo_epi8(x2, zero), d = _mm256_unpackhi_epi8(x2, zero);
    return {{_mm256_unpacklo_epi16(a, c), _mm256_unpackhi_epi16(a, c), _mm256_unpacklo_epi16(b, d),
             _mm256_unpackhi_epi16(b, d)}};
  }

  // As asm: see conv_avxvnni.cc.
  void add(Sums& sums, const Row& x, int y) const {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      multiply(sums.r[j], x.r[j], constants_.weights[y][j] + first_);
      if constexpr (kWide) multiply(sums.r[j], x.r[j], constants_.rest[y][j] + first_);
    }
  }

 private:
  static void multiply(__m256i& sum, __m256i x, const void* weights) {
    asm("%{vex%} vpdpbusd %2, %1, %0"
        : "+x"(sum)
        : "x"(x), "xm"(*static_cast<const __m256i_u*>(weights)));
  }

  const FlatConstants& constants_;
  s64 first_;
};

}  // namespace

void depthwise_u8s8_3x3_avxvnni(const FlatColumn& column) {
  column.wide ? run_flat<DotProduct<true>>(column) : run_flat<DotProduct<false>>(column);
}

}  // namespace octet
