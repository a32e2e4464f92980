// SPDX-License-Identifier: Apache-2.0
// Two numbers of 16 bits in a word: rounding to them, and the larger and smaller ones. NaN where one is; -0 is below 0.
#pragma once

#include "backends/cuda/device/functions.cuh"
#include "backends/cuda/device/mma_float.cuh"
#include "backends/cuda/device/number.h"

namespace octet::cuda {

template <Number kType>
__device__ __forceinline__ u32 half_pair(f32 low, f32 high) {
  return kType == Number::f16 ? pair_of_f16(low, high) : pair_of_bf16(low, high);
}

#if defined(OCTET_EMULATED) || defined(OCTET_WITHOUT_HALF_PAIRS)
// Of two numbers of 16 bits by their bits: those of one sign are in the order of their sizes.
__device__ __forceinline__ u16 extreme_half(u16 a, u16 b, u16 infinity, bool largest) {
  if ((a & 0x7fff) > infinity) return a;
  if ((b & 0x7fff) > infinity) return b;
  const s32 x = a >> 15 != 0 ? -1 - (a & 0x7fff) : a, y = b >> 15 != 0 ? -1 - (b & 0x7fff) : b;
  return (x > y) == largest ? a : b;
}
template <Number kType>
__device__ __forceinline__ u32 extreme_pair(u32 a, u32 b, bool largest) {
  const u16 infinity = kType == Number::f16 ? 0x7c00 : 0x7f80;
  return extreme_half((u16)a, (u16)b, infinity, largest) | (u32)extreme_half((u16)(a >> 16), (u16)(b >> 16), infinity, largest) << 16;
}
template <Number kType>
__device__ __forceinline__ u32 max_pair(u32 a, u32 b) { return extreme_pair<kType>(a, b, true); }
template <Number kType>
__device__ __forceinline__ u32 min_pair(u32 a, u32 b) { return extreme_pair<kType>(a, b, false); }
#else
template <Number kType>
__device__ __forceinline__ u32 max_pair(u32 a, u32 b) {
  u32 c;
  if constexpr (kType == Number::f16) asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  else asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}
template <Number kType>
__device__ __forceinline__ u32 min_pair(u32 a, u32 b) {
  u32 c;
  if constexpr (kType == Number::f16) asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  else asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}
#endif

}  // namespace octet::cuda
