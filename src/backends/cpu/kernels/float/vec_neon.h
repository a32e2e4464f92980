// SPDX-License-Identifier: Apache-2.0
// Eight lanes of f32 in two registers of NEON: the names of vec_avx2.h that the bodies compiled for it use, and the same order of every sum.
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
inline V v_add(V a, V b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
inline V v_sub(V a, V b) { return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)}; }
inline V v_mul(V a, V b) { return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)}; }
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

inline I v_bits(V x) { return {vreinterpretq_s32_f32(x.low), vreinterpretq_s32_f32(x.high)}; }
inline V v_from_bits(I x) { return {vreinterpretq_f32_s32(x.low), vreinterpretq_f32_s32(x.high)}; }
inline I i_set(int x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
inline I i_add(I a, I b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
inline I i_and(I a, I b) { return {vandq_s32(a.low, b.low), vandq_s32(a.high, b.high)}; }
inline I i_or(I a, I b) { return {vorrq_s32(a.low, b.low), vorrq_s32(a.high, b.high)}; }
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

inline bool v_any(M m) { return vmaxvq_u32(vorrq_u32(m.low, m.high)) != 0; }

}  // namespace
}  // namespace octet
