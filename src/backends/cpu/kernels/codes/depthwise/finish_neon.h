// SPDX-License-Identifier: Apache-2.0
// Sums of 16 channels of a depthwise convolution -> codes or reals: shared by the kernels of aarch64, of internal linkage.
#pragma once

#include "backends/cpu/kernels/codes/depthwise/depthwise_args.h"
#include "backends/cpu/kernels/codes/simd_neon.h"

namespace octet {
namespace {

constexpr s64 kBlock = 16;

inline void store_real(const EpilogueArgs& e, const float32x4_t t[4], f32* dst, s64 channels) {
  f32 y[kBlock];
  f32* to = channels >= kBlock ? dst : y;
  for (int v = 0; v < 4; ++v) vst1q_f32(to + 4 * v, e.clip ? clip(e, t[v]) : t[v]);
  if (to == y) memcpy(dst, y, sizeof(f32) * static_cast<size_t>(channels));
}

inline void finish(const DepthwiseRow& row, s64 pixel, s64 channel, const int32x4_t acc[4]) {
  const EpilogueArgs& e = *row.epilogue;
  const s64 channels = row.channels - channel;
  float32x4_t t[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j)
    t[j] = vmulq_f32(vcvtq_f32_s32(acc[j]), vld1q_f32(row.multiplier + channel + 4 * j));
  if (row.residual != nullptr) {
    int32x4_t r[4];
    widen(load_bytes16(row.residual + pixel * row.residual_stride + channel, channels), r);
    for (int j = 0; j < 4; ++j) t[j] = add_residual(e, t[j], r[j]);
  }
  if (e.leaky) {
    for (int j = 0; j < 4; ++j) t[j] = leaky(t[j], e.alpha);
  }
  u8* dst = row.dst + pixel * row.dst_stride;
  if (e.real) return store_real(e, t, reinterpret_cast<f32*>(dst) + channel, channels);
  store_bytes16(as_bytes(final_codes(e, t)), dst + channel, channels);
}

}  // namespace
}  // namespace octet
