// SPDX-License-Identifier: Apache-2.0
// Scalar form of the float-island functions; the SIMD forms follow these statements one by one.
#include "core/math.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/math_constants.h"

namespace octet {
namespace {

u32 bits(f32 x) { return std::bit_cast<u32>(x); }
f32 from_bits(u32 x) { return std::bit_cast<f32>(x); }
f32 magnitude(f32 x) { return from_bits(bits(x) & 0x7fffffffu); }
f32 with_sign_of(f32 x, f32 sign) { return from_bits(bits(x) | (bits(sign) & 0x80000000u)); }
f32 power_of_two(s32 n) { return from_bits(static_cast<u32>(n + 127) << 23); }

// As maxps(a, x) and minps(a, x): x where it is NaN.
f32 at_least(f32 a, f32 x) { return a > x ? a : x; }
f32 at_most(f32 a, f32 x) { return a < x ? a : x; }

// c[0] + x c[1] + ..., by Horner's rule.
template <size_t kCount>
f32 polynomial(const f32 (&c)[kCount], f32 x) {
  f32 p = c[kCount - 1];
  for (size_t i = kCount - 1; i-- > 0;) p = std::fma(p, x, c[i]);
  return p;
}

}  // namespace

f32 math_exp(f32 x) {
  x = at_most(kExpMax, at_least(kExpMin, x));
  const f32 shifted = std::fma(x, kLog2e, kRoundMagic);
  const f32 n = shifted - kRoundMagic;
  f32 r = std::fma(n, -kLn2Hi, x);
  r = std::fma(n, -kLn2Lo, r);
  const f32 p = std::fma(r * r, polynomial(kExpPoly, r), r) + 1.0f;
  // Two factors: 2^n alone would overflow at 128 and lose denormals. For NaN they are arbitrary and p is NaN.
  const s32 e = static_cast<s32>(bits(shifted) - bits(kRoundMagic));
  const s32 half = e >> 1;
  return (p * power_of_two(half)) * power_of_two(e - half);
}

f32 math_log(f32 x) {
  const bool tiny = x < std::numeric_limits<f32>::min();
  const f32 scaled = tiny ? x * 0x1p23f : x;
  const s32 offset = static_cast<s32>(bits(scaled) - static_cast<u32>(kSqrtHalfBits));
  const f32 e = static_cast<f32>((offset >> 23) - (tiny ? 23 : 0));
  const f32 f =
      from_bits((static_cast<u32>(offset) & 0x7fffffu) + static_cast<u32>(kSqrtHalfBits)) - 1.0f;
  const f32 s = f / (2.0f + f);
  const f32 z = s * s;
  const f32 half_square = 0.5f * f * f;
  // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z p(z)): the large terms cancel exactly in this order.
  f32 y = s * std::fma(z, polynomial(kLogPoly, z), half_square);
  y = std::fma(e, kLn2Lo, y) - half_square;
  y = std::fma(e, kLn2Hi, y + f);
  const f32 infinity = std::numeric_limits<f32>::infinity();
  y = x == 0.0f ? -infinity : y;
  y = x < 0.0f ? std::numeric_limits<f32>::quiet_NaN() : y;
  return x < infinity ? y : x;  // +inf and NaN
}

f32 math_tanh(f32 x) {
  const f32 a = magnitude(x);
  const f32 z = a * a;
  const f32 small = std::fma(a * z, polynomial(kTanhPoly, z), a);
  const f32 capped = at_most(kTanhMax, a);
  const f32 large = 1.0f - 2.0f / (math_exp(capped + capped) + 1.0f);
  return with_sign_of(a < kTanhSplit ? small : large, x);
}

f32 math_sigmoid(f32 x) {
  const f32 e = math_exp(-magnitude(x));
  const f32 numerator = x < 0.0f ? e : 1.0f;
  return numerator / (1.0f + e);
}

f32 math_erf(f32 x) {
  const f32 a = magnitude(x);
  const f32 z = a * a;
  const f32 small = std::fma(a, polynomial(kErfSmallPoly, z), a);
  const f32 large = 1.0f - math_exp(polynomial(kErfLargePoly, at_most(kErfMax, a)));
  return with_sign_of(a < kErfSplit ? small : large, x);
}

f32 math_swish(f32 x, f32 alpha) { return x * math_sigmoid(alpha * x); }

f32 math_gelu(f32 x) { return (0.5f * x) * (1.0f + math_erf(x * kSqrtHalf)); }

f32 math_gelu_tanh(f32 x) {
  const f32 inner = std::fma((x * x) * x, kGeluCubic, x);
  return (0.5f * x) * (1.0f + math_tanh(kSqrt2OverPi * inner));
}

f32 math_hard_sigmoid(f32 x, f32 alpha, f32 beta) {
  f32 y = std::fma(alpha, x, beta);
  y = y < 0.0f ? 0.0f : y;
  return y > 1.0f ? 1.0f : y;
}

f32 math_hard_swish(f32 x) { return x * math_hard_sigmoid(x, 1.0f / 6.0f, 0.5f); }

}  // namespace octet
