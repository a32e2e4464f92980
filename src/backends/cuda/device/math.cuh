// SPDX-License-Identifier: Apache-2.0
// core/math.cc statement by statement, with the coefficients of core/math_constants.h: the same bits for every input.
#pragma once

#define INFINITY_F32 f32_bits(0x7f800000u)

__device__ __forceinline__ f32 f32_sub(f32 a, f32 b) { return f32_add(a, -b); }
__device__ __forceinline__ f32 magnitude(f32 x) { return f32_bits(bits_of(x) & 0x7fffffffu); }
__device__ __forceinline__ f32 with_sign_of(f32 x, f32 sign) { return f32_bits(bits_of(x) | (bits_of(sign) & 0x80000000u)); }
__device__ __forceinline__ f32 power_of_two(s32 n) { return f32_bits((u32)(n + 127) << 23); }
__device__ __forceinline__ f32 at_least(f32 a, f32 x) { return a > x ? a : x; }
__device__ __forceinline__ f32 at_most(f32 a, f32 x) { return a < x ? a : x; }

// c[0] + x c[1] + ..., by Horner's rule.
template <int kCount>
__device__ __forceinline__ f32 polynomial(const f32 (&c)[kCount], f32 x) {
  f32 p = c[kCount - 1];
#pragma unroll
  for (int i = kCount - 2; i >= 0; --i) p = f32_fma(p, x, c[i]);
  return p;
}

// exp(x) is p 2^n, where n and `bias` are the low bits of `shifted`; -104 <= x <= 89, or NaN. `bias`: an even number.
struct ExpParts {
  f32 p, shifted;
  __device__ __forceinline__ explicit ExpParts(f32 x, f32 bias = 0.0f) {
    const f32 c[] = {0x1.000000p-1f, 0x1.555490p-3f, 0x1.5554c2p-5f, 0x1.123adap-7f, 0x1.6d7810p-10f};
    const f32 magic = 0x1.8p+23f + bias;
    shifted = f32_fma(x, 0x1.715476p+0f, magic);
    const f32 n = f32_sub(shifted, magic);
    f32 r = f32_fma(n, -0x1.62e400p-1f, x);
    r = f32_fma(n, -0x1.7f7d1cp-20f, r);
    p = f32_add(f32_fma(f32_mul(r, r), polynomial(c, r), r), 1.0f);
  }
};

__device__ __forceinline__ f32 math_exp(f32 x) {
  const ExpParts parts(at_most(89.0f, at_least(-104.0f, x)));
  // For NaN the factors are arbitrary and p is NaN.
  const s32 e = (s32)(bits_of(parts.shifted) - bits_of(0x1.8p+23f));
  const s32 half = e >> 1;
  return f32_mul(f32_mul(parts.p, power_of_two(half)), power_of_two(e - half));
}
// The same where the result is a normal number: -87 <= x <= 88.
__device__ __forceinline__ f32 math_exp_normal(f32 x) {
  const ExpParts parts(x);
  return f32_bits(bits_of(parts.p) + (bits_of(parts.shifted) << 23));
}
// The same of all x <= 1, and of -infinity: 2^64 times the result is a normal number, and one product rounds it as math_exp's second does. NaN: 0.
__device__ __forceinline__ f32 math_exp_of_least(f32 x) {
  const ExpParts parts(fmaxf(x, -104.0f), 64.0f);
  return f32_mul(f32_bits(bits_of(parts.p) + (bits_of(parts.shifted) << 23)), 0x1p-64f);
}

__device__ __forceinline__ f32 math_log(f32 x) {
  const f32 c[] = {0x1.555554p-1f, 0x1.999c26p-2f, 0x1.23d3d6p-2f, 0x1.f13e66p-3f};
  const u32 sqrt_half = 0x3f3504f3u;
  const bool tiny = x < 0x1p-126f;
  const f32 scaled = tiny ? f32_mul(x, 0x1p23f) : x;
  const s32 offset = (s32)(bits_of(scaled) - sqrt_half);
  const f32 e = f32_of((offset >> 23) - (tiny ? 23 : 0));
  const f32 f = f32_sub(f32_bits(((u32)offset & 0x7fffffu) + sqrt_half), 1.0f);
  const f32 s = f32_div(f, f32_add(2.0f, f));
  const f32 z = f32_mul(s, s);
  const f32 half_square = f32_mul(f32_mul(0.5f, f), f);
  f32 y = f32_mul(s, f32_fma(z, polynomial(c, z), half_square));
  y = f32_sub(f32_fma(e, 0x1.7f7d1cp-20f, y), half_square);
  y = f32_fma(e, 0x1.62e400p-1f, f32_add(y, f));
  y = x == 0.0f ? -INFINITY_F32 : y;
  y = x < 0.0f ? f32_bits(0x7fc00000u) : y;
  return x < INFINITY_F32 ? y : x;
}

__device__ __forceinline__ f32 math_tanh(f32 x) {
  const f32 c[] = {-0x1.555554p-2f, 0x1.11107cp-3f, -0x1.b9f212p-5f, 0x1.63abd6p-6f, -0x1.0c801ep-7f, 0x1.1aa266p-9f};
  const f32 a = magnitude(x);
  const f32 z = f32_mul(a, a);
  const f32 small = f32_fma(f32_mul(a, z), polynomial(c, z), a);
  const f32 capped = at_most(10.0f, a);
  const f32 large = f32_sub(1.0f, f32_div(2.0f, f32_add(math_exp(f32_add(capped, capped)), 1.0f)));
  return with_sign_of(a < 0.625f ? small : large, x);
}

__device__ __forceinline__ f32 math_sigmoid(f32 x) {
  const f32 e = math_exp(-magnitude(x));
  return f32_div(x < 0.0f ? e : 1.0f, f32_add(1.0f, e));
}

__device__ __forceinline__ f32 math_erf(f32 x) {
  const f32 near[] = {0x1.06eba8p-3f, -0x1.812740p-2f, 0x1.ce2d64p-4f, -0x1.b8011ap-6f, 0x1.544a1ap-8f, -0x1.a60a2ep-11f,
                      0x1.4f675ep-14f};
  const f32 far[] = {0x1.6b502ap-13f, -0x1.212772p+0f, -0x1.4447cep-1f, -0x1.bb74cap-4f, 0x1.9b686cp-6f, -0x1.11228cp-8f,
                     0x1.c6dcc4p-12f, -0x1.60f89ep-16f};
  const f32 a = magnitude(x);
  const f32 z = f32_mul(a, a);
  const f32 small = f32_fma(a, polynomial(near, z), a);
  const f32 large = f32_sub(1.0f, math_exp(polynomial(far, at_most(4.0f, a))));
  return with_sign_of(a < 0.921875f ? small : large, x);
}

__device__ __forceinline__ f32 math_swish(f32 x, f32 alpha) { return f32_mul(x, math_sigmoid(f32_mul(alpha, x))); }

__device__ __forceinline__ f32 math_gelu(f32 x) {
  return f32_mul(f32_mul(0.5f, x), f32_add(1.0f, math_erf(f32_mul(x, 0x1.6a09e6p-1f))));
}

__device__ __forceinline__ f32 math_gelu_tanh(f32 x) {
  const f32 inner = f32_fma(f32_mul(f32_mul(x, x), x), 0.044715f, x);
  return f32_mul(f32_mul(0.5f, x), f32_add(1.0f, math_tanh(f32_mul(0x1.988454p-1f, inner))));
}

__device__ __forceinline__ f32 math_hard_sigmoid(f32 x, f32 alpha, f32 beta) {
  const f32 y = f32_fma(alpha, x, beta);
  return bounded(y, 0.0f, 1.0f);
}

__device__ __forceinline__ f32 math_hard_swish(f32 x) { return f32_mul(x, math_hard_sigmoid(x, 1.0f / 6.0f, 0.5f)); }
