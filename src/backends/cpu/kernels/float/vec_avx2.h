// SPDX-License-Identifier: Apache-2.0
// One vector of f32 for AVX2: the few operations that the float kernels are written with. vec_vnni.h has the same names.
// Everything has internal linkage, so nothing compiled here can be linked into baseline code.
#pragma once

#include <immintrin.h>

namespace octet {
namespace {

typedef __m256 V;   // f32 lanes
typedef __m256i I;  // their bits
typedef __m256 M;   // a mask: all bits of a lane set or clear
constexpr int kLanes = 8;

inline V v_set(float x) { return _mm256_set1_ps(x); }
inline V v_load(const float* p) { return _mm256_loadu_ps(p); }
inline void v_store(float* p, V x) { _mm256_storeu_ps(p, x); }

// p[index[0]], p[index[1]], ...
inline V v_gather(const float* p, const int* index) {
  const void* at = index;
  return _mm256_i32gather_ps(p, _mm256_loadu_si256(static_cast<const __m256i*>(at)), 4);
}

inline I v_first(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// The first n lanes; the others read as zero and are not written.
inline V v_load_n(const float* p, int n) {
  return n == kLanes ? v_load(p) : _mm256_maskload_ps(p, v_first(n));
}
inline void v_store_n(float* p, V x, int n) {
  n == kLanes ? v_store(p, x) : _mm256_maskstore_ps(p, v_first(n), x);
}
inline V v_gather_n(const float* p, const int* index, int n) {
  if (n == kLanes) return v_gather(p, index);
  int some[kLanes] = {};
  __builtin_memcpy(some, index, sizeof(int) * static_cast<unsigned>(n));
  return v_gather(p, some);
}
// The same of a whole register of indices, zero where an index is -1.
inline V v_gather_inside(const float* p, const int* index) {
  const void* from = index;
  const __m256i at = _mm256_loadu_si256(static_cast<const __m256i*>(from));
  const __m256 inside = _mm256_castsi256_ps(_mm256_xor_si256(at, _mm256_set1_epi32(-1)));
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, at, inside, 4);
}
// `x` in the first n lanes, `fill` in the others.
inline V v_keep_n(V x, V fill, int n) {
  return _mm256_blendv_ps(fill, x, _mm256_castsi256_ps(v_first(n)));
}

inline float v_first_of(V x) { return _mm256_cvtss_f32(x); }
inline V v_add(V a, V b) { return _mm256_add_ps(a, b); }
inline V v_sub(V a, V b) { return _mm256_sub_ps(a, b); }
inline V v_mul(V a, V b) { return _mm256_mul_ps(a, b); }
inline V v_div(V a, V b) { return _mm256_div_ps(a, b); }
inline V v_fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
inline V v_sqrt(V a) { return _mm256_sqrt_ps(a); }
inline V v_max(V a, V b) { return _mm256_max_ps(a, b); }  // a > b ? a : b
inline V v_min(V a, V b) { return _mm256_min_ps(a, b); }  // a < b ? a : b
// bounded() of core/rounding.h: NaN passes, since the instructions return their second operand for it.
inline V v_bounded(V x, V lo, V hi) { return v_min(hi, v_max(lo, x)); }
// NaN becomes 0, numbers stay.
inline V v_number(V x) { return _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q)); }
inline V v_floor(V a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
inline V v_ceil(V a) { return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
inline V v_rne(V a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

// To the nearest value of a 16-bit float, ties to even: as f16(x) and bf16(x).
inline V v_round_f16(V x) {
  return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline V v_round_bf16(V x) {
  const I bits = _mm256_castps_si256(x);
  const I odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const I near = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const I quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const V nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  const V chosen = _mm256_blendv_ps(_mm256_castsi256_ps(near), _mm256_castsi256_ps(quiet), nan);
  return _mm256_and_ps(chosen, _mm256_castsi256_ps(_mm256_set1_epi32(-0x10000)));
}
// To f16 where `to` is 1, to bf16 where it is 2.
inline V v_rounded(V x, int to) { return to == 0 ? x : to == 1 ? v_round_f16(x) : v_round_bf16(x); }

// n codes as reals, and integral reals from 0 to 255 as codes.
inline V v_load_codes_n(const unsigned char* p, int n) {
  unsigned char bytes[kLanes] = {};
  __builtin_memcpy(bytes, p, static_cast<unsigned>(n));
  const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(codes));
}
inline void v_store_codes_n(unsigned char* p, V x, int n) {
  const __m256i codes = _mm256_cvtps_epi32(x);
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  unsigned char bytes[kLanes];
  _mm_storel_epi64(reinterpret_cast<__m128i*>(bytes), _mm_packus_epi16(words, words));
  __builtin_memcpy(p, bytes, static_cast<unsigned>(n));
}

// Lanes 1, 0, 3, 2, ...
inline V v_swap_pairs(V x) { return _mm256_permute_ps(x, 0xb1); }

inline bool v_any(M m) { return _mm256_movemask_ps(m) != 0; }
inline M v_lt(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
inline M v_eq(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
inline V v_select(M m, V yes, V no) { return _mm256_blendv_ps(no, yes, m); }

inline I v_bits(V x) { return _mm256_castps_si256(x); }
inline V v_from_bits(I x) { return _mm256_castsi256_ps(x); }
inline I i_set(int x) { return _mm256_set1_epi32(x); }
inline I i_add(I a, I b) { return _mm256_add_epi32(a, b); }
inline I i_sub(I a, I b) { return _mm256_sub_epi32(a, b); }
inline I i_and(I a, I b) { return _mm256_and_si256(a, b); }
inline I i_or(I a, I b) { return _mm256_or_si256(a, b); }
template <int kBits>
inline I i_shift_left(I a) {
  return _mm256_slli_epi32(a, kBits);
}
template <int kBits>
inline I i_shift_right(I a) {  // arithmetic
  return _mm256_srai_epi32(a, kBits);
}
inline V v_from_int(I a) { return _mm256_cvtepi32_ps(a); }

// x * 2^n for a normal x and an integer n in [-254, 252], as two exact factors and one rounding.
inline V v_power_of_two(I n) { return v_from_bits(i_shift_left<23>(i_add(n, i_set(127)))); }
inline V v_scale(V x, V n) {
  const I e = _mm256_cvtps_epi32(n);
  const I half = i_shift_right<1>(e);
  return v_mul(v_mul(x, v_power_of_two(half)), v_power_of_two(i_sub(e, half)));
}

// The 16 interleaved lanes of core/reduce.h.
constexpr int kReduceWidth = 16;
struct Lanes {
  V low, high;
};
inline Lanes lanes_set(float x) { return {v_set(x), v_set(x)}; }

// Lane i and lane i + 8.
inline __m256 fold_halves(Lanes x) { return v_add(x.low, x.high); }

inline float fold_add(Lanes x) {
  const V eight = fold_halves(x);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// The later lane is compared as "element > lane": max(element, lane).
inline float fold_max(Lanes x) {
  const V eight = v_max(x.high, x.low);
  const __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
  const __m128 two = _mm_max_ps(_mm_movehl_ps(four, four), four);
  return _mm_cvtss_f32(_mm_max_ss(_mm_shuffle_ps(two, two, 1), two));
}

// The register that holds the lane of element i, for i a multiple of kLanes.
inline V& lanes_of(Lanes& x, long i) { return (i & 8) == 0 ? x.low : x.high; }

}  // namespace
}  // namespace octet
