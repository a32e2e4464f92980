// SPDX-License-Identifier: Apache-2.0
// Eight values at a time; rounding to nearest, ties to even, as core's f16.
#include "backends/cpu/kernels/float/cast.h"
#include "backends/cpu/kernels/float/vec_neon.h"

namespace octet {
namespace {

// The last few values in room of their own, so that one loop knows them all.
template <class From, class To, class Eight>
void cast_all(const CastArgs* args, const Eight& eight) {
  const From* src = static_cast<const From*>(args->src);
  To* dst = static_cast<To*>(args->dst);
  long i = 0;
  for (; i + kLanes <= args->count; i += kLanes) eight(src + i, dst + i);
  if (i == args->count) return;
  From from[kLanes] = {};
  To to[kLanes];
  for (long k = 0; i + k < args->count; ++k) from[k] = src[i + k];
  eight(from, to);
  for (long k = 0; i + k < args->count; ++k) dst[i + k] = to[k];
}

}  // namespace

void cast_f16_to_f32_neon(const CastArgs* args) {
  cast_all<__fp16, float>(args, [](const __fp16* src, float* dst) {
    const float16x8_t halves = vld1q_f16(src);
    v_store(dst, {vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)});
  });
}

void cast_f32_to_f16_neon(const CastArgs* args) {
  cast_all<float, __fp16>(args, [](const float* src, __fp16* dst) {
    const V x = v_load(src);
    vst1q_f16(dst, vcvt_high_f16_f32(vcvt_f16_f32(x.low), x.high));
  });
}

void cast_f32_to_bf16_neon(const CastArgs* args) {
  cast_all<float, unsigned short>(args, [](const float* src, unsigned short* dst) {
    const I bits = v_bits(v_round_bf16(v_load(src)));
    const uint16x4_t low = vshrn_n_u32(vreinterpretq_u32_s32(bits.low), 16);
    vst1q_u16(dst, vshrn_high_n_u32(low, vreinterpretq_u32_s32(bits.high), 16));
  });
}

}  // namespace octet
