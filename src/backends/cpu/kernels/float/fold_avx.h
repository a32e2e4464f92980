// SPDX-License-Identifier: Apache-2.0
// Sums of four at once, of AVX2's lanes and of AVX-512's. Included behind vec_avx2.h or vec_vnni.h.
#pragma once

namespace octet {
namespace {

// The sums of four, each folded as fold_add() does.
inline __m128 fold_quarters(Lanes x) {
  const __m256 eight = fold_halves(x);
  return _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
}
inline void fold_add_four(const Lanes (&x)[4], float* sums) {
  const __m128 a = fold_quarters(x[0]), b = fold_quarters(x[1]);
  const __m128 c = fold_quarters(x[2]), d = fold_quarters(x[3]);
  const __m128 ab = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a));
  const __m128 cd = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));
  _mm_storeu_ps(sums, _mm_add_ps(_mm_shuffle_ps(ab, cd, 0x88), _mm_shuffle_ps(ab, cd, 0xdd)));
}

}  // namespace
}  // namespace octet
