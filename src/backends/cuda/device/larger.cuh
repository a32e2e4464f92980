// SPDX-License-Identifier: Apache-2.0
// The larger of four codes each, of one type.
#pragma once

template <bool kSigned>
__device__ __forceinline__ u32 larger_codes(u32 a, u32 b) {
#ifdef OCTET_EMULATED
  u32 codes = 0;
  for (s32 i = 0; i < 32; i += 8) {
    const u32 bias = kSigned ? 128 : 0, x = (a >> i & 255) ^ bias, y = (b >> i & 255) ^ bias;
    codes |= ((x > y ? x : y) ^ bias) << i;
  }
  return codes;
#else
  return kSigned ? __vmaxs4(a, b) : __vmaxu4(a, b);
#endif
}
