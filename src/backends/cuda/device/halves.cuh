// SPDX-License-Identifier: Apache-2.0
// Reals as they lie in memory: f32, or 16 bits.
#pragma once

#include "backends/cuda/device/half_pairs.cuh"

namespace octet::cuda {

// Two neighbours.
struct RealPair {
  f32 even, odd;
};

template <Number kType>
__device__ __forceinline__ f32 half_of_pair(u32 pair, u32 i) {
  if constexpr (kType == Number::f16) return half_real(pair, i);
  return f32_bits(i == 0 ? pair << 16 : pair & 0xFFFF0000u);
}

template <Number kType>
__device__ __forceinline__ f32 load_real(const u8* from, s64 at) {
  if constexpr (kType == Number::f32) return ((const f32*)from)[at];
  return half_of_pair<kType>(((const u16*)from)[at], 0);
}
// `at` is even.
template <Number kType>
__device__ __forceinline__ RealPair load_pair(const u8* from, s64 at) {
  if constexpr (kType == Number::f32) {
    const float2 pair = *(const float2*)((const f32*)from + at);
    return {pair.x, pair.y};
  } else {
    const u32 pair = *(const u32*)((const u16*)from + at);
    return {half_of_pair<kType>(pair, 0), half_of_pair<kType>(pair, 1)};
  }
}

// To the nearest number of the type.
template <Number kType>
__device__ __forceinline__ f32 rounded_real(f32 y) {
  if constexpr (kType == Number::f32) return y;
  return half_of_pair<kType>(half_pair<kType>(y, 0.0f), 0);
}

// y, which kRounded holds where it is stored as f32.
template <Number kType, Number kRounded>
__device__ __forceinline__ void store_real(u8* to, s64 at, f32 y) {
  if constexpr (kType == Number::f32) {
    ((f32*)to)[at] = rounded_real<kRounded>(y);
  } else {
    ((u16*)to)[at] = (u16)half_pair<kType>(y, 0.0f);
  }
}
template <Number kType, Number kRounded>
__device__ __forceinline__ void store_pair(u8* to, s64 at, RealPair y) {
  if constexpr (kType == Number::f32) {
    *(float2*)((f32*)to + at) = float2{rounded_real<kRounded>(y.even), rounded_real<kRounded>(y.odd)};
  } else {
    *(u32*)((u16*)to + at) = half_pair<kType>(y.even, y.odd);
  }
}

}  // namespace octet::cuda
