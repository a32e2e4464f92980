// SPDX-License-Identifier: Apache-2.0
// core/math.h statement by statement on vectors. Include vec_avx2.h or vec_vnni.h first.
#pragma once

#include "core/math_constants.h"

namespace octet {
namespace {

inline V v_magnitude(V x) { return v_from_bits(i_and(v_bits(x), i_set(0x7fffffff))); }
inline V v_negate(V x) { return v_sub(v_set(-0.0f), x); }
inline V v_with_sign_of(V x, V sign) {
  return v_from_bits(i_or(v_bits(x), i_and(v_bits(sign), i_set(static_cast<int>(0x80000000u)))));
}

template <int kCount>
inline V v_polynomial(const float (&c)[kCount], V x) {
  V p = v_set(c[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) p = v_fma(p, x, v_set(c[i]));
  return p;
}

// For x in [kExpMin, kExpMax].
inline V v_exp_inside(V x) {
  const V shifted = v_fma(x, v_set(kLog2e), v_set(kRoundMagic));
  const V n = v_sub(shifted, v_set(kRoundMagic));
  V r = v_fma(n, v_set(-kLn2Hi), x);
  r = v_fma(n, v_set(-kLn2Lo), r);
  const V p = v_add(v_fma(v_mul(r, r), v_polynomial(kExpPoly, r), r), v_set(1.0f));
  return v_scale(p, n);
}

inline V v_exp(V x) { return v_exp_inside(v_min(v_set(kExpMax), v_max(v_set(kExpMin), x))); }

inline V v_log(V x) {
  const M tiny = v_lt(x, v_set(0x1p-126f));
  const V scaled = v_select(tiny, v_mul(x, v_set(0x1p23f)), x);
  const I offset = i_sub(v_bits(scaled), i_set(kSqrtHalfBits));
  // Both operands are small integers: the subtraction is exact, as the integer one of the scalar form.
  const V e =
      v_sub(v_from_int(i_shift_right<23>(offset)), v_select(tiny, v_set(23.0f), v_set(0.0f)));
  const V m = v_from_bits(i_add(i_and(offset, i_set(0x7fffff)), i_set(kSqrtHalfBits)));
  const V f = v_sub(m, v_set(1.0f));
  const V s = v_div(f, v_add(v_set(2.0f), f));
  const V z = v_mul(s, s);
  const V half_square = v_mul(v_mul(v_set(0.5f), f), f);
  V y = v_mul(s, v_fma(z, v_polynomial(kLogPoly, z), half_square));
  y = v_sub(v_fma(e, v_set(kLn2Lo), y), half_square);
  y = v_fma(e, v_set(kLn2Hi), v_add(y, f));
  const V infinity = v_set(__builtin_inff());
  y = v_select(v_eq(x, v_set(0.0f)), v_negate(infinity), y);
  y = v_select(v_lt(x, v_set(0.0f)), v_set(__builtin_nanf("")), y);
  return v_select(v_lt(x, infinity), y, x);
}

inline V v_tanh(V x) {
  const V a = v_magnitude(x);
  const V z = v_mul(a, a);
  const V small = v_fma(v_mul(a, z), v_polynomial(kTanhPoly, z), a);
  const V capped = v_min(v_set(kTanhMax), a);
  const V e = v_exp(v_add(capped, capped));
  const V large = v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(e, v_set(1.0f))));
  return v_with_sign_of(v_select(v_lt(a, v_set(kTanhSplit)), small, large), x);
}

inline V v_sigmoid(V x) {
  const V negative = v_from_bits(i_or(v_bits(x), i_set(static_cast<int>(0x80000000u))));  // -|x|
  const V e = v_exp_inside(v_max(v_set(kExpMin), negative));
  const V numerator = v_select(v_lt(x, v_set(0.0f)), e, v_set(1.0f));
  return v_div(numerator, v_add(v_set(1.0f), e));
}

inline V v_erf(V x) {
  const V a = v_magnitude(x);
  const V z = v_mul(a, a);
  const V small = v_fma(a, v_polynomial(kErfSmallPoly, z), a);
  const V q = v_polynomial(kErfLargePoly, v_min(v_set(kErfMax), a));
  const V large = v_sub(v_set(1.0f), v_exp(q));
  return v_with_sign_of(v_select(v_lt(a, v_set(kErfSplit)), small, large), x);
}

inline V v_swish(V x, V alpha) { return v_mul(x, v_sigmoid(v_mul(alpha, x))); }

inline V v_gelu(V x) {
  const V erf = v_erf(v_mul(x, v_set(kSqrtHalf)));
  return v_mul(v_mul(v_set(0.5f), x), v_add(v_set(1.0f), erf));
}

inline V v_gelu_tanh(V x) {
  const V inner = v_fma(v_mul(v_mul(x, x), x), v_set(kGeluCubic), x);
  const V tanh = v_tanh(v_mul(v_set(kSqrt2OverPi), inner));
  return v_mul(v_mul(v_set(0.5f), x), v_add(v_set(1.0f), tanh));
}

inline V v_hard_sigmoid(V x, V alpha, V beta) {
  return v_bounded(v_fma(alpha, x, beta), v_set(0.0f), v_set(1.0f));
}

inline V v_hard_swish(V x) { return v_mul(x, v_hard_sigmoid(x, v_set(1.0f / 6.0f), v_set(0.5f))); }

}  // namespace
}  // namespace octet
