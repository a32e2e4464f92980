// SPDX-License-Identifier: Apache-2.0
// NEON pieces shared by its kernels, all of internal linkage.
#pragma once

#include <arm_neon.h>
#include <string.h>

#include "backends/cpu/kernels/codes/epilogue_args.h"

namespace octet {
namespace {

// Nearest integers; what leaves the range of s32 becomes its bound, which packing saturates as it does lesser values. NaN becomes what
// requantize() makes of it: fmaxnm prefers the number, fcvtns alone would give 0.
inline int32x4_t nearest(float32x4_t t) {
  return vcvtnq_s32_f32(vmaxnmq_f32(t, vdupq_n_f32(-65536.0f)));
}

inline float32x4_t leaky(float32x4_t t, f32 alpha) {
  return vbslq_f32(vcltzq_f32(t), vmulq_n_f32(t, alpha), t);
}

inline float32x4_t add_residual(const EpilogueArgs& e, float32x4_t t, int32x4_t residual) {
  const int32x4_t centered = vsubq_s32(residual, vdupq_n_s32(e.residual_zero_point));
  return vfmaq_n_f32(t, vcvtq_f32_s32(centered), e.residual_multiplier);
}

// By comparisons, as clamp_f32 has it: fmax and fmin know NaN and the sign of zero otherwise.
inline float32x4_t clip(const EpilogueArgs& e, float32x4_t t) {
  const float32x4_t lo = vdupq_n_f32(e.min), hi = vdupq_n_f32(e.max);
  t = vbslq_f32(vcgtq_f32(t, lo), t, lo);
  return vbslq_f32(vcltq_f32(t, hi), t, hi);
}

// Saturates, adds the zero point and clamps, as EpilogueArgs or SumArgs say: 4 codes of n0, then of n1, n2, n3.
template <class Limits>
inline uint8x16_t pack_codes(const Limits& e, const int32x4_t n[4]) {
  const int16x8_t zero_point = vdupq_n_s16(static_cast<s16>(e.zero_point));
  const int16x8_t a = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(n[0]), n[1]), zero_point);
  const int16x8_t b = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(n[2]), n[3]), zero_point);
  const uint8x16_t codes = vqmovun_high_s16(vqmovun_s16(a), b);
  return vminq_u8(vmaxq_u8(codes, vdupq_n_u8(static_cast<u8>(e.lo))),
                  vdupq_n_u8(static_cast<u8>(e.hi)));
}

// 256 codes in four tables of 64: an index outside of one leaves what is there.
inline uint8x16_t look_up(uint8x16_t codes, const u8* table) {
  const uint8x16_t step = vdupq_n_u8(64);
  uint8x16_t found = vqtbl4q_u8(vld1q_u8_x4(table), codes);
#pragma GCC unroll 3
  for (int part = 1; part < 4; ++part) {
    codes = vsubq_u8(codes, step);
    found = vqtbx4q_u8(found, vld1q_u8_x4(table + 64 * part), codes);
  }
  return found;
}

// See simd_vnni.h.
inline uint8x16_t fine_codes(const EpilogueArgs& e, const int32x4_t n[4]) {
  const int32x4_t zero_point = vdupq_n_s32(e.zero_point);
  const uint16x8_t a =
      vqmovun_high_s32(vqmovun_s32(vqaddq_s32(n[0], zero_point)), vqaddq_s32(n[1], zero_point));
  const uint16x8_t b =
      vqmovun_high_s32(vqmovun_s32(vqaddq_s32(n[2], zero_point)), vqaddq_s32(n[3], zero_point));
  const uint8x16_t line =
      vuzp1q_u8(vreinterpretq_u8_u16(vshrq_n_u16(a, 10)), vreinterpretq_u8_u16(vshrq_n_u16(b, 10)));
  const uint8x16_t base_low = vqtbl4q_u8(vld1q_u8_x4(e.table), line);
  const uint8x16_t base_high = vqtbl4q_u8(vld1q_u8_x4(e.table + 64), line);
  const uint8x16_t slope_low = vqtbl4q_u8(vld1q_u8_x4(e.table + 128), line);
  const uint8x16_t slope_high = vqtbl4q_u8(vld1q_u8_x4(e.table + 192), line);
  const int16x8_t at_a = vreinterpretq_s16_u16(vshrq_n_u16(vshlq_n_u16(a, 6), 1));
  const int16x8_t at_b = vreinterpretq_s16_u16(vshrq_n_u16(vshlq_n_u16(b, 6), 1));
  const int16x8_t grown_a =
      vqrdmulhq_s16(vreinterpretq_s16_u8(vzip1q_u8(slope_low, slope_high)), at_a);
  const int16x8_t grown_b =
      vqrdmulhq_s16(vreinterpretq_s16_u8(vzip2q_u8(slope_low, slope_high)), at_b);
  const int16x8_t y_a = vqaddq_s16(vreinterpretq_s16_u8(vzip1q_u8(base_low, base_high)), grown_a);
  const int16x8_t y_b = vqaddq_s16(vreinterpretq_s16_u8(vzip2q_u8(base_low, base_high)), grown_b);
  const uint8x16_t codes =
      vqmovun_high_s16(vqmovun_s16(vqrdmulhq_n_s16(y_a, 512)), vqrdmulhq_n_s16(y_b, 512));
  return vminq_u8(vmaxq_u8(codes, vdupq_n_u8(static_cast<u8>(e.lo))),
                  vdupq_n_u8(static_cast<u8>(e.hi)));
}

// Codes of rounded sums after the table, if there is one.
inline uint8x16_t codes_behind_table(const EpilogueArgs& e, const int32x4_t n[4]) {
  if (e.fine) return fine_codes(e, n);
  const uint8x16_t codes = pack_codes(e, n);
  return e.table != nullptr ? look_up(codes, e.table) : codes;
}

inline void widen(uint8x16_t bytes, int32x4_t w[4]) {
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
  w[0] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low)));
  w[1] = vreinterpretq_s32_u32(vmovl_high_u16(low));
  w[2] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high)));
  w[3] = vreinterpretq_s32_u32(vmovl_high_u16(high));
}

// The codes of the sums of first codes and residuals.
inline uint8x16_t sum_codes(const EpilogueArgs& e, uint8x16_t own, uint8x16_t residual) {
  const int32x4_t zero = vdupq_n_s32(e.sum.own_zero_point);
  const int32x4_t residual_zero = vdupq_n_s32(e.residual_zero_point);
  int32x4_t a[4], b[4];
  widen(own, a);
  widen(residual, b);
  for (int v = 0; v < 4; ++v) {
    const float32x4_t left = vcvtq_f32_s32(vsubq_s32(a[v], zero));
    const float32x4_t right = vcvtq_f32_s32(vsubq_s32(b[v], residual_zero));
    const f32 m = e.sum.own_multiplier, r = e.residual_multiplier;
    a[v] = nearest(e.sum.residual_first ? vfmaq_n_f32(vmulq_n_f32(left, m), right, r)
                                        : vfmaq_n_f32(vmulq_n_f32(right, r), left, m));
  }
  return pack_codes(e.sum, a);
}

// Loads and stores of the first n bytes; nothing beyond may be touched.
inline uint8x16_t load_bytes16(const u8* src, s64 n) {
  if (n >= 16) return vld1q_u8(src);
  if (n == 8) return vcombine_u8(vld1_u8(src), vdup_n_u8(0));
  u8 bytes[16] = {};
  memcpy(bytes, src, static_cast<size_t>(n));
  return vld1q_u8(bytes);
}

inline void store_bytes16(uint8x16_t x, u8* dst, s64 n) {
  if (n >= 16) return vst1q_u8(dst, x);
  if ((n & 8) != 0) {
    vst1_u8(dst, vget_low_u8(x));
    dst += 8;
    x = vextq_u8(x, x, 8);
  }
  if ((n & 4) != 0) {
    vst1q_lane_u32(reinterpret_cast<u32*>(dst), vreinterpretq_u32_u8(x), 0);
    dst += 4;
    x = vextq_u8(x, x, 4);
  }
  if ((n & 2) != 0) {
    vst1q_lane_u16(reinterpret_cast<u16*>(dst), vreinterpretq_u16_u8(x), 0);
    dst += 2;
    x = vextq_u8(x, x, 2);
  }
  if ((n & 1) != 0) vst1q_lane_u8(dst, x, 0);
}

// What kernels written for several instruction sets (*_body.h) are made of; the names of simd_avx2.h.
using Ints = int32x4_t;  // s32, or codes
using Reals = float32x4_t;
constexpr s64 kCodes = 16;  // in a register
using Lanes = s64;          // as many, from the first
inline uint8x16_t as_bytes(Ints x) { return vreinterpretq_u8_s32(x); }
inline Ints as_ints(uint8x16_t x) { return vreinterpretq_s32_u8(x); }
inline Lanes first_codes(s64 n) { return n; }
inline Ints load_codes(const u8* src, Lanes lanes) { return as_ints(load_bytes16(src, lanes)); }
inline void store_codes(Ints codes, u8* dst, Lanes lanes) {
  store_bytes16(as_bytes(codes), dst, lanes);
}
inline Ints smaller_codes(Ints a, Ints b) { return as_ints(vminq_u8(as_bytes(a), as_bytes(b))); }
inline Ints all_codes(u8 code) { return as_ints(vdupq_n_u8(code)); }
inline Ints all(s32 x) { return vdupq_n_s32(x); }
inline Reals all(f32 x) { return vdupq_n_f32(x); }
inline Ints no_ints() { return vdupq_n_s32(0); }
inline Reals to_reals(Ints x) { return vcvtq_f32_s32(x); }
inline Ints add_s32(Ints a, Ints b) { return vaddq_s32(a, b); }
inline Ints sub_s32(Ints a, Ints b) { return vsubq_s32(a, b); }
inline Reals mul_f32(Reals a, Reals b) { return vmulq_f32(a, b); }
inline Reals multiply_add(Reals a, Reals b, Reals c) { return vfmaq_f32(c, a, b); }
inline Ints add_u16(Ints a, Ints b) {
  return vreinterpretq_s32_u16(vaddq_u16(vreinterpretq_u16_s32(a), vreinterpretq_u16_s32(b)));
}
inline Ints low_bytes(Ints x, Ints y) { return as_ints(vzip1q_u8(as_bytes(x), as_bytes(y))); }
inline Ints high_bytes(Ints x, Ints y) { return as_ints(vzip2q_u8(as_bytes(x), as_bytes(y))); }
inline Ints low_words(Ints x, Ints y) {
  return vreinterpretq_s32_u16(vzip1q_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y)));
}
inline Ints high_words(Ints x, Ints y) {
  return vreinterpretq_s32_u16(vzip2q_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y)));
}
// The product of codes less their zero points.
inline Ints code_product(Ints a, Ints b) { return vmulq_s32(a, b); }
// In the order of pack_codes.
inline void widen_in_lanes(Ints codes, Ints w[4]) { widen(as_bytes(codes), w); }
// Codes of t after the table, if there is one.
inline Ints final_codes(const EpilogueArgs& e, const Reals t[4]) {
  const int32x4_t n[4] = {nearest(t[0]), nearest(t[1]), nearest(t[2]), nearest(t[3])};
  return as_ints(codes_behind_table(e, n));
}

}  // namespace
}  // namespace octet
