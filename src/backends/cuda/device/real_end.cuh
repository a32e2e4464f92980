// SPDX-License-Identifier: Apache-2.0
// Sums of reals -> what is stored. A kernel names its end:
//   struct OwnEnd { static constexpr RealEnd spec() { return Made::spec().end; } };
//   using End = RealEnding<OwnEnd>;
#pragma once

#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/math.cuh"
#include "backends/cuda/device/functions.cuh"
#include "backends/cuda/device/mma_float.cuh"
#include "backends/cuda/device/real_end.h"

namespace octet::cuda {

template <int kBytes>
struct alignas(kBytes < 16 ? kBytes : 16) Piece {
  u8 bytes[kBytes];
};

// Number `e` of what lies there.
template <Number kType>
__device__ __forceinline__ f32 real_at(const u8* numbers, s32 e) {
  if constexpr (kType == Number::f16) return half_real((u32)((const u16*)numbers)[e], 0);
  if constexpr (kType == Number::bf16) return real_of_bf16(((const u16*)numbers)[e]);
  if constexpr (kType == Number::f32) return ((const f32*)numbers)[e];
  return 0.0f;
}

template <Number kType>
__device__ __forceinline__ f32 rounded_to(f32 t) {
  if constexpr (kType == Number::f16) return half_real(pair_of_f16(t, 0.0f), 0);
  if constexpr (kType == Number::bf16) return real_of_bf16(bf16_of(t));
  return t;
}

template <class Own>
struct RealEnding {
  static constexpr RealEnd s = Own::spec();
  static constexpr s32 kYBytes = bytes_of(s.y), kResidualBytes = bytes_of(s.residual_type);

  // The sum of all products -> the layer's real.
  static __device__ __forceinline__ f32 ended(f32 sum, const RealEndParams& p, s32 channel, f32 residual) {
    if constexpr (s.bias) sum = f32_add(sum, p.bias[channel]);
    if constexpr (s.residual) sum = f32_add(sum, residual);
    if constexpr (s.leaky) sum = sum < 0.0f ? f32_mul(sum, value_of(s.alpha)) : sum;
    if constexpr (s.clamp) sum = bounded(sum, value_of(s.clamp_lo), value_of(s.clamp_hi));
    return rounded_to<s.rounded>(sum);
  }

  // `kCount` neighbouring channels from `channel` on, at these elements of y and of the residual.
  template <s32 kCount>
  static __device__ __forceinline__ void store(const RealEndParams& p, s32 channel, s64 y, s64 residual_at, const f32 (&sums)[kCount]) {
    Piece<kYBytes * kCount> out;
    Piece<kResidualBytes * kCount> added;
    if constexpr (s.residual) added = *(const Piece<kResidualBytes * kCount>*)((const u8*)p.residual + residual_at * kResidualBytes);
#pragma unroll
    for (s32 e = 0; e < kCount; ++e) {
      const f32 residual = s.residual ? real_at<s.residual_type>(added.bytes, e) : 0.0f;
      const f32 t = ended(sums[e], p, channel + e, residual);
      if constexpr (s.y == Number::f32) {
        ((f32*)out.bytes)[e] = t;
      } else if constexpr (s.y == Number::f16) {
        ((u16*)out.bytes)[e] = (u16)pair_of_f16(t, 0.0f);
      } else if constexpr (s.y == Number::bf16) {
        ((u16*)out.bytes)[e] = bf16_of(t);
      } else {
        out.bytes[e] = (u8)quantized(t, value_of(s.scale), value_of(s.reciprocal), s.zero_point, s.lo, s.hi);
      }
    }
    *(Piece<kYBytes * kCount>*)((u8*)p.y + y * kYBytes) = out;
  }
};

}  // namespace octet::cuda
