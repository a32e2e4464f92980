// SPDX-License-Identifier: Apache-2.0
// Functions of single reals beside those of math.cu, as the operators' definitions have them, and halves: core/tensor.cc statement by statement.
#pragma once

#include "backends/cuda/device/math.cuh"

// rounded_f16, rounded_bf16: of what was computed, where a NaN's bits are nobody's; f16_of and bf16_of keep them.
#if defined(OCTET_EMULATED) || defined(OCTET_WITHOUT_HALF_PAIRS)
__device__ __forceinline__ u16 bf16_of(f32 x) {
  const u32 bits = bits_of(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)(bits >> 16 | 0x40u);
  return (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
__device__ __forceinline__ u16 rounded_bf16(f32 x) { return bf16_of(x); }
#else
__device__ __forceinline__ u16 rounded_bf16(f32 x) {
  u16 half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}
__device__ __forceinline__ u16 bf16_of(f32 x) { return x != x ? (u16)(bits_of(x) >> 16 | 0x40u) : rounded_bf16(x); }
#endif
#ifdef OCTET_EMULATED
static inline u16 f16_of(f32 x) {
  const u32 bits = bits_of(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (u16)(sign | 0x7e00u | (size >> 13 & 0x3ffu));
  if (size >= 0x477ff000u) return (u16)(sign | 0x7c00u);  // rounds to 65536 or beyond
  // Subnormal or zero: the sum has steps of 2^-24.
  if (size < 0x38800000u) return (u16)(sign | (bits_of(f32_add(f32_bits(size), 0.5f)) - bits_of(0.5f)));
  return (u16)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
}
static inline f32 real_of_f16(u16 half) {
  const u32 sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, rest = half & 0x3ffu;
  if (exponent == 0) return f32_bits(sign | bits_of(f32_mul((f32)rest, 0x1p-24f)));
  return f32_bits(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | rest << 13);
}
static inline u16 rounded_f16(f32 x) { return f16_of(x); }
#else
__device__ __forceinline__ u16 rounded_f16(f32 x) {
  u16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}
__device__ __forceinline__ u16 f16_of(f32 x) {
  const u32 bits = bits_of(x);
  return x != x ? (u16)((bits >> 16 & 0x8000u) | 0x7e00u | (bits >> 13 & 0x3ffu)) : rounded_f16(x);
}
__device__ __forceinline__ f32 real_of_f16(u16 half) { return half_real(half, 0); }
#endif
__device__ __forceinline__ f32 real_of_bf16(u16 half) { return f32_bits((u32)half << 16); }

__device__ __forceinline__ f32 real_celu(f32 x, f32 alpha) {
  const f32 below = f32_mul(alpha, f32_sub(math_exp(f32_div(x, alpha)), 1.0f));
  return f32_add(x < 0.0f ? 0.0f : x, below > 0.0f ? 0.0f : below);
}

__device__ __forceinline__ f32 real_mish(f32 x) {
  const f32 e = math_exp(20.0f < x ? 20.0f : x), n = f32_mul(e, f32_add(e, 2.0f));
  return f32_mul(x, f32_div(n, f32_add(n, 2.0f)));
}

__device__ __forceinline__ f32 real_softplus(f32 x) {
  const f32 t = math_exp(-magnitude(x)), u = f32_add(1.0f, t);
  const f32 rest = u == 1.0f ? t : f32_mul(math_log(u), f32_div(t, f32_sub(u, 1.0f)));
  return f32_add(x < 0.0f ? 0.0f : x, rest);
}
