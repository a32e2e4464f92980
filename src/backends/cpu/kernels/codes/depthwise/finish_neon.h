// SPDX-License-Identifier: Apache-2.0
// Sums of 16 channels of a depthwise convolution -> codes or reals: shared by the kernels of NEON, of internal linkage.
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

[[gnu::noinline]] void finish_any(const DepthwiseRow& row, s64 pixel, s64 channel,
                                  const int32x4_t acc[4]) {
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

// The same of 16 channels that become codes and nothing else, by constants that stay in registers from pixel to pixel.
struct BlockEnd {
  float32x4_t multiplier[4];
  int16x8_t zero_point;
  uint8x16_t lo, hi;
  bool plain;

  [[gnu::always_inline]] BlockEnd(const DepthwiseRow& row, s64 channel)
      : zero_point(vdupq_n_s16(static_cast<s16>(row.epilogue->zero_point))),
        lo(vdupq_n_u8(static_cast<u8>(row.epilogue->lo))),
        hi(vdupq_n_u8(static_cast<u8>(row.epilogue->hi))),
        plain(row.residual == nullptr && !row.epilogue->leaky && !row.epilogue->real &&
              row.epilogue->table == nullptr && row.channels - channel >= kBlock) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) multiplier[j] = vld1q_f32(row.multiplier + channel + 4 * j);
  }

  [[gnu::always_inline]] uint8x16_t codes(const int32x4_t acc[4]) const {
    int32x4_t n[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) n[j] = nearest(vmulq_f32(vcvtq_f32_s32(acc[j]), multiplier[j]));
    const int16x8_t a = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(n[0]), n[1]), zero_point);
    const int16x8_t b = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(n[2]), n[3]), zero_point);
    return vminq_u8(vmaxq_u8(vqmovun_high_s16(vqmovun_s16(a), b), lo), hi);
  }
};

template <int kPixels>
[[gnu::always_inline]] inline void finish(const DepthwiseRow& row, const BlockEnd& end, s64 first,
                                          s64 channel, const int32x4_t acc[kPixels][4]) {
  if (end.plain) {
    u8* dst = row.dst + first * row.dst_stride + channel;
#pragma GCC unroll 4
    for (int m = 0; m < kPixels; ++m) vst1q_u8(dst + m * row.dst_stride, end.codes(acc[m]));
    return;
  }
  int32x4_t copy[kPixels][4];  // for the address
#pragma GCC unroll 4
  for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) copy[m][j] = acc[m][j];
  }
  for (int m = 0; m < kPixels; ++m) finish_any(row, first + m, channel, copy[m]);
}

}  // namespace
}  // namespace octet
