// SPDX-License-Identifier: Apache-2.0
// Codes of neighbouring channels.
#pragma once

__device__ __forceinline__ s32 code_of(u8 byte, bool is_signed) {
  return is_signed ? (s32)(s8)byte : (s32)byte;
}

// N codes from one place to another, in one access where N is 2, 4, 8 or 16; the place is a multiple of N.
template <int N>
__device__ __forceinline__ void load_codes(u8* to, const u8* from) {
  if constexpr (N == 16) {
    *(uint4*)to = *(const uint4*)from;
  } else if constexpr (N == 8) {
    *(uint2*)to = *(const uint2*)from;
  } else if constexpr (N == 4) {
    *(u32*)to = *(const u32*)from;
  } else if constexpr (N == 2) {
    *(u16*)to = *(const u16*)from;
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = from[i];
  }
}
template <int N>
__device__ __forceinline__ void store_codes(u8* to, const u8* from) {
  load_codes<N>(to, from);
}
