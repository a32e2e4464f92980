// SPDX-License-Identifier: Apache-2.0
// f32 -> 16-bit codes, and back, 8 at a time.
#include "backends/cpu/kernels/codes/quantize/blocks.h"
#include "backends/cpu/kernels/codes/quantize/quantize_args.h"
#include "backends/cpu/kernels/codes/simd_neon.h"

namespace octet {
namespace {

// From the lowest code on, so that both types are packed as u16.
inline int32x4_t from_lowest4(const QuantizeWideRun& run, const f32* src) {
  const float32x4_t lo = vdupq_n_f32(static_cast<f32>(run.lowest - run.zero_point));
  const float32x4_t hi = vdupq_n_f32(static_cast<f32>(run.lowest + 65535 - run.zero_point));
  const float32x4_t x = vdivq_f32(vld1q_f32(src), vdupq_n_f32(run.scale));
  // The code of 0 is that of NaN.
  const float32x4_t number =
      vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), vceqq_f32(x, x)));
  const float32x4_t t = vminq_f32(vmaxq_f32(number, lo), hi);
  return vaddq_s32(vcvtnq_s32_f32(t), vdupq_n_s32(run.zero_point - run.lowest));
}

// Of full registers; a rest is copied through one.
inline uint16x8_t wide_codes8(const QuantizeWideRun& run, const f32* src) {
  const uint16x8_t codes =
      vqmovun_high_s32(vqmovun_s32(from_lowest4(run, src)), from_lowest4(run, src + 4));
  return vaddq_u16(codes, vdupq_n_u16(static_cast<u16>(run.lowest)));
}

inline float32x4_t reals4(const DequantizeWideRun& run, int32x4_t q) {
  return vmulq_n_f32(vcvtq_f32_s32(vsubq_s32(q, vdupq_n_s32(run.zero_point))), run.scale);
}

inline void wide_reals8(const DequantizeWideRun& run, const u16* src, f32* dst) {
  const uint16x8_t codes = vld1q_u16(src);
  const int16x8_t same = vreinterpretq_s16_u16(codes);
  vst1q_f32(dst,
            reals4(run, run.is_signed ? vmovl_s16(vget_low_s16(same))
                                      : vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(codes)))));
  vst1q_f32(dst + 4, reals4(run, run.is_signed ? vmovl_high_s16(same)
                                               : vreinterpretq_s32_u32(vmovl_high_u16(codes))));
}

}  // namespace

void quantize_f32_wide_neon(const QuantizeWideRun& run) {
  in_blocks<8>(run.src, run.dst, run.count,
               [&](const f32* src, u16* dst) { vst1q_u16(dst, wide_codes8(run, src)); });
}

void dequantize_wide_f32_neon(const DequantizeWideRun& run) {
  in_blocks<8>(run.src, run.dst, run.count,
               [&](const u16* src, f32* dst) { wide_reals8(run, src, dst); });
}

}  // namespace octet
