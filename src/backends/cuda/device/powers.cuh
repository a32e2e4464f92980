// SPDX-License-Identifier: Apache-2.0
// 2^x by the special-function unit, for results of class `close` (docs/numerics.md, section 7), and what goes with it.
#pragma once

#define INFINITY_OF_SCORES f32_bits(0x7f800000u)

// Within 2^-22 of it, relative (the PTX manual); below 2^-126 zero. Of -inf zero, of NaN NaN.
#ifdef OCTET_EMULATED
static inline f32 power_of_2(f32 x) {
  const f32 power = __builtin_exp2f(x);
  return power < 0x1p-126f ? 0.0f : power;
}
#else
__device__ __forceinline__ f32 power_of_2(f32 x) {
  f32 power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
#endif

// The larger of two, a number where one is NaN: one instruction.
#ifdef OCTET_EMULATED
static inline f32 larger_number(f32 a, f32 b) { return fmaxf(a, b); }
#else
__device__ __forceinline__ f32 larger_number(f32 a, f32 b) {
  f32 c;
  asm("max.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
#endif
