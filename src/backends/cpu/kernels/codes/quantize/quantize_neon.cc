// SPDX-License-Identifier: Apache-2.0
// f32 -> u8, and back, 16 at a time.
#include "backends/cpu/kernels/codes/quantize/blocks.h"
#include "backends/cpu/kernels/codes/quantize/quantize_args.h"
#include "backends/cpu/kernels/codes/simd_neon.h"

namespace octet {
namespace {

// The code of 0 is that of NaN: x where it is a number, else 0.
inline float32x4_t number(float32x4_t x) {
  return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), vceqq_f32(x, x)));
}

inline float32x4_t between(float32x4_t x, f32 lo, f32 hi) {
  return vminq_f32(vmaxq_f32(x, vdupq_n_f32(lo)), vdupq_n_f32(hi));
}

inline int32x4_t codes4(const QuantizeRun& run, const f32* src) {
  const f32 reciprocal = run.near.reciprocal;
  float32x4_t quotient;
  if (reciprocal != 0.0f) {
    const float32x4_t x = between(number(vld1q_f32(src)), run.near.lowest, run.near.highest);
    const float32x4_t t = vmulq_n_f32(x, reciprocal);
    quotient = vfmaq_n_f32(t, vfmsq_n_f32(x, t, run.scale), reciprocal);
  } else {
    quotient = between(number(vdivq_f32(vld1q_f32(src), vdupq_n_f32(run.scale))),
                       static_cast<f32>(-run.zero_point), static_cast<f32>(255 - run.zero_point));
  }
  return vaddq_s32(vcvtnq_s32_f32(quotient), vdupq_n_s32(run.zero_point));
}

inline void quantize16(const QuantizeRun& run, const f32* src, u8* dst) {
  const int16x8_t low = vqmovn_high_s32(vqmovn_s32(codes4(run, src)), codes4(run, src + 4));
  const int16x8_t high = vqmovn_high_s32(vqmovn_s32(codes4(run, src + 8)), codes4(run, src + 12));
  vst1q_u8(dst, vqmovun_high_s16(vqmovun_s16(low), high));
}

inline void dequantize16(const DequantizeRun& run, const u8* src, f32* dst) {
  int32x4_t q[4];
  widen(vld1q_u8(src), q);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const int32x4_t centered = vsubq_s32(q[v], vdupq_n_s32(run.zero_point));
    vst1q_f32(dst + 4 * v, vmulq_n_f32(vcvtq_f32_s32(centered), run.scale));
  }
}

}  // namespace

void quantize_f32_u8_neon(const QuantizeRun& run) {
  // A copy of the run: no store of codes changes it.
  in_blocks<16>(run.src, run.dst, run.count,
                [run](const f32* src, u8* dst) { quantize16(run, src, dst); });
}

void dequantize_u8_f32_neon(const DequantizeRun& run) {
  in_blocks<16>(run.src, run.dst, run.count,
                [&](const u8* src, f32* dst) { dequantize16(run, src, dst); });
}

void interleave3_u8_neon(const InterleaveRun& run) {
  s64 i = 0;
  for (; i + 16 <= run.count; i += 16) {
    const u8* src = run.planes + i;
    vst3q_u8(run.dst + 3 * i,
             {vld1q_u8(src), vld1q_u8(src + run.stride), vld1q_u8(src + 2 * run.stride)});
  }
  for (; i < run.count; ++i) {
    for (s64 c = 0; c < 3; ++c) run.dst[3 * i + c] = run.planes[c * run.stride + i];
  }
}

}  // namespace octet
