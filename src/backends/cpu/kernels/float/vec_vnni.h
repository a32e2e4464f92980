// SPDX-License-Identifier: Apache-2.0
// One vector of f32 for AVX-512: the names of vec_avx2.h.
#pragma once

#include <immintrin.h>

namespace octet {
namespace {

typedef __m512 V;
typedef __m512i I;
typedef __mmask16 M;
constexpr int kLanes = 16;

inline V v_set(float x) { return _mm512_set1_ps(x); }
inline V v_load(const float* p) { return _mm512_loadu_ps(p); }
inline void v_store(float* p, V x) { _mm512_storeu_ps(p, x); }

inline M v_first(int n) { return static_cast<M>((1u << n) - 1u); }
inline V v_load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(v_first(n), p); }
inline void v_store_n(float* p, V x, int n) { _mm512_mask_storeu_ps(p, v_first(n), x); }
inline V v_gather_n(const float* p, const int* index, int n) {
  const __m512i at = _mm512_maskz_loadu_epi32(v_first(n), index);
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), v_first(n), at, p, 4);
}
inline V v_gather_inside(const float* p, const int* index) {
  const __m512i at = _mm512_loadu_si512(index);
  const __mmask16 inside = _mm512_cmpge_epi32_mask(at, _mm512_setzero_si512());
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, at, p, 4);
}
inline V v_keep_n(V x, V fill, int n) { return _mm512_mask_mov_ps(fill, v_first(n), x); }

// A number of bf16 in memory. What is stored is one of bf16 already: the upper half of its bits.
struct Bf16 {
  unsigned short bits;
};
inline V v_widened(__m256i halves) {
  return _mm512_castsi512_ps(
      _mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, halves), 16));
}
inline V v_load(const Bf16* p) {
  return v_widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline V v_load_n(const Bf16* p, int n) {
  return v_widened(_mm256_maskz_loadu_epi16(v_first(n), p));
}
inline __m256i v_upper_halves(V x) {
  return _mm512_maskz_cvtepi32_epi16(0xffff,
                                     _mm512_maskz_srli_epi32(0xffff, _mm512_castps_si512(x), 16));
}
inline void v_store(Bf16* p, V x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v_upper_halves(x));
}
inline void v_store_n(Bf16* p, V x, int n) {
  _mm256_mask_storeu_epi16(p, v_first(n), v_upper_halves(x));
}
inline float v_first_of(V x) { return _mm512_cvtss_f32(x); }
inline V v_add(V a, V b) { return _mm512_add_ps(a, b); }
inline V v_sub(V a, V b) { return _mm512_sub_ps(a, b); }
inline V v_mul(V a, V b) { return _mm512_mul_ps(a, b); }
inline V v_div(V a, V b) { return _mm512_div_ps(a, b); }
inline V v_fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
inline V v_sqrt(V a) { return _mm512_sqrt_ps(a); }
inline V v_max(V a, V b) { return _mm512_max_ps(a, b); }
inline V v_min(V a, V b) { return _mm512_min_ps(a, b); }
// bounded() of core/rounding.h: NaN passes, since the instructions return their second operand for it.
inline V v_bounded(V x, V lo, V hi) { return v_min(hi, v_max(lo, x)); }
// NaN becomes 0, numbers stay.
inline V v_number(V x) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x); }
inline V v_floor(V a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
inline V v_ceil(V a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
inline V v_rne(V a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// To the nearest value of a 16-bit float, ties to even: as f16(x) and bf16(x).
inline V v_round_f16(V x) {
  const __m256i half =
      _mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return _mm512_maskz_cvtph_ps(0xffff, half);
}
inline V v_round_bf16(V x) {
  const I bits = _mm512_castps_si512(x);
  const I odd = _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, bits, 16), _mm512_set1_epi32(1));
  const I near = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const I quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const M nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const I chosen = _mm512_mask_blend_epi32(nan, near, quiet);
  return _mm512_castsi512_ps(_mm512_and_si512(chosen, _mm512_set1_epi32(-0x10000)));
}

// To f16 where `to` is 1, to bf16 where it is 2.
inline V v_rounded(V x, int to) { return to == 0 ? x : to == 1 ? v_round_f16(x) : v_round_bf16(x); }

// n codes as reals, and integral reals from 0 to 255 as codes.
inline V v_load_codes_n(const unsigned char* p, int n) {
  return _mm512_maskz_cvtepi32_ps(0xffff,
                                  _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(v_first(n), p)));
}
inline void v_store_codes_n(unsigned char* p, V x, int n) {
  const __m512i codes = _mm512_maskz_cvtps_epi32(0xffff, x);
  _mm512_mask_cvtepi32_storeu_epi8(p, v_first(n), codes);
}

// Lanes 1, 0, 3, 2, ...
inline V v_swap_pairs(V x) { return _mm512_maskz_permute_ps(0xffff, x, 0xb1); }

inline bool v_any(M m) { return m != 0; }
inline M v_lt(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
inline M v_eq(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
inline V v_select(M m, V yes, V no) { return _mm512_mask_blend_ps(m, no, yes); }

inline I v_bits(V x) { return _mm512_castps_si512(x); }
inline V v_from_bits(I x) { return _mm512_castsi512_ps(x); }
inline I i_set(int x) { return _mm512_set1_epi32(x); }
inline I i_add(I a, I b) { return _mm512_add_epi32(a, b); }
inline I i_sub(I a, I b) { return _mm512_sub_epi32(a, b); }
inline I i_and(I a, I b) { return _mm512_and_si512(a, b); }
inline I i_or(I a, I b) { return _mm512_or_si512(a, b); }
template <int kBits>
inline I i_shift_left(I a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kBits>
inline I i_shift_right(I a) {
  return _mm512_srai_epi32(a, kBits);
}
inline V v_from_int(I a) { return _mm512_maskz_cvtepi32_ps(0xffff, a); }

// x * 2^n for an integer n, rounded once.
inline V v_scale(V x, V n) { return _mm512_maskz_scalef_ps(0xffff, x, n); }

constexpr int kReduceWidth = 16;
struct Lanes {
  V all;
};
inline Lanes lanes_set(float x) { return {v_set(x)}; }

inline __m256 lower_half(V x) { return _mm512_maskz_extractf32x8_ps(0xff, x, 0); }
inline __m256 upper_half(V x) { return _mm512_maskz_extractf32x8_ps(0xff, x, 1); }

// Lane i and lane i + 8.
inline __m256 fold_halves(Lanes x) { return _mm256_add_ps(lower_half(x.all), upper_half(x.all)); }

inline float fold_add(Lanes x) {
  const __m256 eight = fold_halves(x);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline float fold_max(Lanes x) {
  const __m256 eight = _mm256_max_ps(upper_half(x.all), lower_half(x.all));
  const __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
  const __m128 two = _mm_max_ps(_mm_movehl_ps(four, four), four);
  return _mm_cvtss_f32(_mm_max_ss(_mm_shuffle_ps(two, two, 1), two));
}

inline V& lanes_of(Lanes& x, long) { return x.all; }

}  // namespace
}  // namespace octet
