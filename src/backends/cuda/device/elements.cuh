// SPDX-License-Identifier: Apache-2.0
// What steps compute of one element: docs/numerics.md, sections 2 and 5. Steps name these functions in their constant BODY.
#pragma once

// The larger and the smaller of two; NaN where one is: one instruction, as fmaxf() and fminf() are, which drop it.
#if defined(OCTET_EMULATED) || defined(OCTET_WITHOUT_HALF_PAIRS)
__device__ __forceinline__ f32 max_or_nan(f32 a, f32 b) { return a != a || b != b ? f32_bits(0x7fffffffu) : fmaxf(a, b); }
__device__ __forceinline__ f32 min_or_nan(f32 a, f32 b) { return a != a || b != b ? f32_bits(0x7fffffffu) : fminf(a, b); }
#else
__device__ __forceinline__ f32 max_or_nan(f32 a, f32 b) {
  f32 c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ __forceinline__ f32 min_or_nan(f32 a, f32 b) {
  f32 c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
#endif

// t -> a code. NaN becomes that of 0, or the nearest to it of those allowed: rne() makes 0 of it.
__device__ __forceinline__ s32 code_of_real(f32 t, s32 zero_point, s32 lo, s32 hi) {
  const s32 code = rne(min_or_nan(max_or_nan(t, (f32)(lo - zero_point)), (f32)(hi - zero_point))) + zero_point;
  return lo > zero_point || hi < zero_point ? clamp_s32(code, lo, hi) : code;
}

// A NaN in either is the result.
__device__ __forceinline__ f32 larger(f32 a, f32 b) { return a != a ? a : b != b ? b : a > b ? a : b; }
__device__ __forceinline__ f32 smaller(f32 a, f32 b) { return a != a ? a : b != b ? b : a < b ? a : b; }

__device__ __forceinline__ f32 leaky(f32 t, f32 alpha) { return t < 0.0f ? f32_mul(t, alpha) : t; }

// The code less its zero point, as a real: 2^23 + code is a float whose low byte is the code.
__device__ __forceinline__ f32 centered(u8 code, s32 zero_point) {
  return f32_add(f32_bits(0x4B000000u | code), (f32)(-8388608 - zero_point));
}
__device__ __forceinline__ f32 centered(s8 code, s32 zero_point) {
  return centered((u8)((u8)code ^ 128), zero_point + 128);
}

// fl(x / scale). With reciprocal = fl(1 / scale) and one step of Newton's method the quotient is the correctly rounded one (Markstein)
// unless scale's mantissa is all ones or something leaves the range of normal numbers: for those the host says reciprocal = 0.
// Quotients beyond 2^20 saturate whatever their last bits are; below 1/4 they round to zero.
__device__ __forceinline__ f32 quotient(f32 x, f32 scale, f32 reciprocal) {
  if (reciprocal == 0.0f) return f32_div(x, scale);
  const f32 q = f32_mul(x, reciprocal);
  const f32 better = f32_fma(f32_fma(-q, scale, x), reciprocal, q);
  return fabsf(q) < 1048576.0f ? better : q;
}

__device__ __forceinline__ s32 quantized(f32 x, f32 scale, f32 reciprocal, s32 zero_point, s32 lo, s32 hi) {
  return code_of_real(quotient(x, scale, reciprocal), zero_point, lo, hi);
}
