// SPDX-License-Identifier: Apache-2.0
// Eight lanes of f32 in two registers of NEON: the names of vec_avx2.h, and the same order of every sum.
#pragma once

#include <arm_neon.h>

namespace octet {
namespace {

struct V {  // f32 lanes
  float32x4_t low, high;
};
struct I {  // their bits
  int32x4_t low, high;
};
struct M {  // a mask: all bits of a lane set or clear
  uint32x4_t low, high;
};
constexpr int kLanes = 8;

inline V v_set(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
inline V v_load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
inline void v_store(float* p, V x) {
  vst1q_f32(p, x.low);
  vst1q_f32(p + 4, x.high);
}

// The first n lanes; the others read as zero and are not written.
inline V v_load_n(const float* p, int n) {
  if (n == kLanes) return v_load(p);
  float some[kLanes] = {};
  for (int i = 0; i < n; ++i) some[i] = p[i];
  return v_load(some);
}
inline void v_store_n(float* p, V x, int n) {
  if (n == kLanes) return v_store(p, x);
  float some[kLanes];
  v_store(some, x);
  for (int i = 0; i < n; ++i) p[i] = some[i];
}
inline V v_select(M m, V yes, V no) {
  return {vbslq_f32(m.low, yes.low, no.low), vbslq_f32(m.high, yes.high, no.high)};
}

// The first n lanes.
inline M v_first(int n) {
  constexpr int kPlaces[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const int32x4_t count = vdupq_n_s32(n);
  return {vcltq_s32(vld1q_s32(kPlaces), count), vcltq_s32(vld1q_s32(kPlaces + 4), count)};
}
// `x` in the first n lanes, `fill` in the others.
inline V v_keep_n(V x, V fill, int n) { return v_select(v_first(n), x, fill); }

// p[index[0]], p[index[1]], ...; there is no instruction for it.
inline V v_gather_n(const float* p, const int* index, int n) {
  float some[kLanes] = {};
  for (int i = 0; i < n; ++i) some[i] = p[index[i]];
  return v_load(some);
}
// The same of a whole register of indices, zero where an index is -1.
inline V v_gather_inside(const float* p, const int* index) {
  float some[kLanes];
  for (int i = 0; i < kLanes; ++i) some[i] = index[i] < 0 ? 0.0f : p[index[i]];
  return v_load(some);
}

inline float v_first_of(V x) { return vgetq_lane_f32(x.low, 0); }
inline V v_add(V a, V b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
inline V v_sub(V a, V b) { return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)}; }
inline V v_mul(V a, V b) { return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)}; }
inline V v_div(V a, V b) { return {vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)}; }
inline V v_sqrt(V a) { return {vsqrtq_f32(a.low), vsqrtq_f32(a.high)}; }
inline V v_floor(V a) { return {vrndmq_f32(a.low), vrndmq_f32(a.high)}; }
inline V v_ceil(V a) { return {vrndpq_f32(a.low), vrndpq_f32(a.high)}; }
inline V v_rne(V a) { return {vrndnq_f32(a.low), vrndnq_f32(a.high)}; }
inline V v_fma(V a, V b, V c) {
  return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}
inline M v_lt(V a, V b) { return {vcltq_f32(a.low, b.low), vcltq_f32(a.high, b.high)}; }
inline M v_eq(V a, V b) { return {vceqq_f32(a.low, b.low), vceqq_f32(a.high, b.high)}; }
// By comparison: fmax and fmin know NaN and the sign of zero otherwise.
inline V v_max(V a, V b) { return v_select(v_lt(b, a), a, b); }  // a > b ? a : b
inline V v_min(V a, V b) { return v_select(v_lt(a, b), a, b); }  // a < b ? a : b
// bounded() of core/rounding.h: NaN passes, the second operand of both.
inline V v_bounded(V x, V lo, V hi) { return v_min(hi, v_max(lo, x)); }
// NaN becomes 0, numbers stay.
inline V v_number(V x) { return v_select(v_eq(x, x), x, v_set(0.0f)); }

inline I v_bits(V x) { return {vreinterpretq_s32_f32(x.low), vreinterpretq_s32_f32(x.high)}; }
inline V v_from_bits(I x) { return {vreinterpretq_f32_s32(x.low), vreinterpretq_f32_s32(x.high)}; }
inline I i_set(int x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
inline I i_add(I a, I b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
inline I i_sub(I a, I b) { return {vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)}; }
inline I i_and(I a, I b) { return {vandq_s32(a.low, b.low), vandq_s32(a.high, b.high)}; }
inline I i_or(I a, I b) { return {vorrq_s32(a.low, b.low), vorrq_s32(a.high, b.high)}; }
template <int kBits>
inline I i_shift_left(I a) {
  return {vshlq_n_s32(a.low, kBits), vshlq_n_s32(a.high, kBits)};
}
template <int kBits>
inline I i_shift_right(I a) {  // arithmetic
  return {vshrq_n_s32(a.low, kBits), vshrq_n_s32(a.high, kBits)};
}

// To the nearest value of a 16-bit float, ties to even: as f16(x) and bf16(x).
inline V v_round_f16(V x) {
  return {vcvt_f32_f16(vcvt_f16_f32(x.low)), vcvt_f32_f16(vcvt_f16_f32(x.high))};
}
inline V v_round_bf16(V x) {
  const I bits = v_bits(x);
  // The shift brings copies of the sign along, which the mask drops.
  const I odd = i_and(i_shift_right<16>(bits), i_set(1));
  const I near = i_add(bits, i_add(odd, i_set(0x7fff)));
  const I quiet = i_or(bits, i_set(0x400000));
  const V chosen = v_select(v_eq(x, x), v_from_bits(near), v_from_bits(quiet));
  return v_from_bits(i_and(v_bits(chosen), i_set(-0x10000)));
}

// To f16 where `to` is 1, to bf16 where it is 2.
inline V v_rounded(V x, int to) { return to == 0 ? x : to == 1 ? v_round_f16(x) : v_round_bf16(x); }

inline V v_from_int(I a) { return {vcvtq_f32_s32(a.low), vcvtq_f32_s32(a.high)}; }
inline I i_nearest(V x) { return {vcvtnq_s32_f32(x.low), vcvtnq_s32_f32(x.high)}; }

// x * 2^n for a normal x and an integer n in [-254, 252], as two exact factors and one rounding.
inline V v_power_of_two(I n) { return v_from_bits(i_shift_left<23>(i_add(n, i_set(127)))); }
inline V v_scale(V x, V n) {
  const I e = i_nearest(n);
  const I half = i_shift_right<1>(e);
  return v_mul(v_mul(x, v_power_of_two(half)), v_power_of_two(i_sub(e, half)));
}

// n codes as reals, and integral reals from 0 to 255 as codes.
inline V v_load_codes_n(const unsigned char* p, int n) {
  unsigned char some[kLanes] = {};
  if (n != kLanes) {
    for (int i = 0; i < n; ++i) some[i] = p[i];
    p = some;
  }
  const uint16x8_t words = vmovl_u8(vld1_u8(p));
  return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(words))), vcvtq_f32_u32(vmovl_high_u16(words))};
}
inline uint16x8_t v_code_words(V x) {
  const I codes = i_nearest(x);
  return vcombine_u16(vqmovun_s32(codes.low), vqmovun_s32(codes.high));
}
inline void v_store_codes_n(unsigned char* p, V x, int n) {
  const uint8x8_t codes = vqmovn_u16(v_code_words(x));
  if (n == kLanes) return vst1_u8(p, codes);
  unsigned char some[kLanes];
  vst1_u8(some, codes);
  for (int i = 0; i < n; ++i) p[i] = some[i];
}

// Lanes 1, 0, 3, 2, ...
inline V v_swap_pairs(V x) { return {vrev64q_f32(x.low), vrev64q_f32(x.high)}; }

inline bool v_any(M m) { return vmaxvq_u32(vorrq_u32(m.low, m.high)) != 0; }

// The 16 interleaved lanes of core/reduce.h.
constexpr int kReduceWidth = 16;
struct Lanes {
  V low, high;
};
inline Lanes lanes_set(float x) { return {v_set(x), v_set(x)}; }

// Lane i and lane i + 8, then those that are four apart.
inline float32x4_t fold_quarters(Lanes x) {
  const V eight = v_add(x.low, x.high);
  return vaddq_f32(eight.low, eight.high);
}

inline float fold_add(Lanes x) {
  const float32x4_t four = fold_quarters(x);
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

// The sums of four, each folded as fold_add() does.
inline void fold_add_four(const Lanes (&x)[4], float* sums) {
  const float32x4_t a = fold_quarters(x[0]), b = fold_quarters(x[1]);
  const float32x4_t c = fold_quarters(x[2]), d = fold_quarters(x[3]);
  const float32x4_t ab = vaddq_f32(vcombine_f32(vget_low_f32(a), vget_low_f32(b)),
                                   vcombine_f32(vget_high_f32(a), vget_high_f32(b)));
  const float32x4_t cd = vaddq_f32(vcombine_f32(vget_low_f32(c), vget_low_f32(d)),
                                   vcombine_f32(vget_high_f32(c), vget_high_f32(d)));
  vst1q_f32(sums, vpaddq_f32(ab, cd));
}

// The later lane is compared as "element > lane": max(element, lane).
inline float fold_max(Lanes x) {
  const V eight = v_max(x.high, x.low);
  float lanes[kLanes];
  v_store(lanes, eight);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i)
      lanes[i] = lanes[i + width] > lanes[i] ? lanes[i + width] : lanes[i];
  }
  return lanes[0];
}

// The register that holds the lane of element i, for i a multiple of kLanes.
inline V& lanes_of(Lanes& x, long i) { return (i & 8) == 0 ? x.low : x.high; }

}  // namespace
}  // namespace octet
