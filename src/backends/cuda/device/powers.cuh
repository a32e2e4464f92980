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

// 1 / x, within 2^-23 of it, relative; of what is beyond 2^126 zero.
#ifdef OCTET_EMULATED
static inline f32 inverse_of(f32 x) { return 1.0f / x; }
static inline f32 within_one(f32 x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
#else
__device__ __forceinline__ f32 inverse_of(f32 x) {
  f32 inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  return inverse;
}
// The nearest number from 0 to 1; of NaN 0.
__device__ __forceinline__ f32 within_one(f32 x) {
  f32 y;
  asm("add.sat.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
  return y;
}
#endif

// Functions for results that are rounded to 16 bits, of class `close`: a few instructions each. 1 / (1 + 2^x).
__device__ __forceinline__ f32 close_logistic(f32 x) { return inverse_of(f32_add(1.0f, power_of_2(x))); }
__device__ __forceinline__ f32 close_sigmoid(f32 x) { return close_logistic(f32_mul(x, -0x1.715476p+0f)); }
__device__ __forceinline__ f32 close_swish(f32 x, f32 alpha) { return f32_mul(x, close_sigmoid(f32_mul(alpha, x))); }
// x / (1 + exp(-2 u)), with 2 u the argument of tanh doubled.
__device__ __forceinline__ f32 close_gelu_tanh(f32 x) {
  return f32_mul(x, close_logistic(f32_mul(x, f32_fma(f32_mul(x, x), -0x1.a5a7d0p-4f, -0x1.26aec2p+1f))));
}
// max(x, 0) - |x| Phi(-|x|), where Phi(-a) exp(a^2 / 2) is a polynomial up to a = 5.8: within 2^-14, relative, of what is 2^-24 or more.
__device__ __forceinline__ f32 close_gelu(f32 x) {
  constexpr f32 kEnd = 5.8f;  // of a * Phi(-a) as numbers of f16
  const f32 c[] = {0x1.733128p+1f,  -0x1.ad0648p+3f, 0x1.822188p+5f, -0x1.1ccb3ap+7f, 0x1.5463a2p+8f, -0x1.3c7da0p+9f,
                   0x1.b43730p+9f, -0x1.a736dcp+9f, 0x1.0e717cp+9f, -0x1.962a4ep+7f, 0x1.0e7dc4p+5f};
  const f32 a = within_one(f32_mul(magnitude(x), 1.0f / kEnd));
  const f32 power = power_of_2(f32_mul(f32_mul(x, -0x1.715476p-1f), x));
  const f32 positive = f32_fma(0.5f, magnitude(x), f32_mul(0.5f, x));
  return f32_fma(-a, f32_mul(power, polynomial(c, a)), positive);
}
