// SPDX-License-Identifier: Apache-2.0
#include "core/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace octet {
namespace {

constexpr f32 kInf = std::numeric_limits<f32>::infinity();
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();

// Distance of `got` from the exact value in units of the last place of that value's binade.
f64 ulp_error(f32 got, f64 want) {
  const f32 rounded = static_cast<f32>(want);
  if (std::isinf(rounded) || std::isnan(want)) {
    return got == rounded || (std::isnan(got) && std::isnan(want)) ? 0.0 : 1e9;
  }
  const f32 size = std::max(std::fabs(rounded), std::numeric_limits<f32>::min());
  const f64 ulp = std::ldexp(1.0, std::ilogb(size) - 23);
  return std::fabs(static_cast<f64>(got) - want) / ulp;
}

// Every sign and exponent, mantissas in steps of a prime: about 8 million values.
template <class F, class G>
f64 worst_ulp(const F& function, const G& exact) {
  f64 worst = 0;
  for (u64 bits = 0; bits < (u64{1} << 32); bits += 509) {
    const f32 x = std::bit_cast<f32>(static_cast<u32>(bits));
    if (std::isnan(x)) continue;
    worst = std::max(worst, ulp_error(function(x), exact(static_cast<f64>(x))));
  }
  return worst;
}

TEST(Math, ExpIsWithinTwoUlp) {
  EXPECT_LE(worst_ulp(math_exp, [](f64 x) { return std::exp(x); }), 2.0);
}

TEST(Math, LogIsWithinTwoUlp) {
  EXPECT_LE(worst_ulp(math_log, [](f64 x) { return std::log(x); }), 2.0);
}

TEST(Math, ErfIsWithinTwoUlp) {
  EXPECT_LE(worst_ulp(math_erf, [](f64 x) { return std::erf(x); }), 2.0);
}

TEST(Math, TanhIsWithinTwoUlp) {
  EXPECT_LE(worst_ulp(math_tanh, [](f64 x) { return std::tanh(x); }), 2.0);
}

TEST(Math, SigmoidIsWithinTwoAndAHalfUlp) {
  EXPECT_LE(worst_ulp(math_sigmoid, [](f64 x) { return 1.0 / (1.0 + std::exp(-x)); }), 2.5);
}

TEST(Math, SpecialValues) {
  EXPECT_EQ(math_exp(kInf), kInf);
  EXPECT_EQ(math_exp(-kInf), 0.0f);
  EXPECT_EQ(math_exp(0.0f), 1.0f);
  EXPECT_EQ(math_log(0.0f), -kInf);
  EXPECT_EQ(math_log(-0.0f), -kInf);
  EXPECT_EQ(math_log(kInf), kInf);
  EXPECT_EQ(math_log(1.0f), 0.0f);
  EXPECT_EQ(math_tanh(kInf), 1.0f);
  EXPECT_EQ(math_tanh(-kInf), -1.0f);
  EXPECT_EQ(math_erf(kInf), 1.0f);
  EXPECT_EQ(math_erf(-kInf), -1.0f);
  EXPECT_EQ(math_sigmoid(kInf), 1.0f);
  EXPECT_EQ(math_sigmoid(-kInf), 0.0f);
  EXPECT_EQ(math_sigmoid(0.0f), 0.5f);
  EXPECT_TRUE(std::signbit(math_tanh(-0.0f)));
  EXPECT_TRUE(std::signbit(math_erf(-0.0f)));
  for (auto function : {math_exp, math_log, math_erf, math_tanh, math_sigmoid}) {
    EXPECT_TRUE(std::isnan(function(kNan)));
  }
  EXPECT_TRUE(std::isnan(math_log(-1.0f)));
  EXPECT_TRUE(std::isnan(math_log(-kInf)));
}

TEST(Math, DenormalsAreKept) {
  const f32 least = std::numeric_limits<f32>::denorm_min();
  EXPECT_EQ(math_tanh(least), least);
  EXPECT_NEAR(math_log(least), -103.2789f, 1e-4f);
  EXPECT_EQ(math_exp(-103.0f), least);  // 1.85e-45 rounds to 1.4e-45
  EXPECT_GT(math_sigmoid(-100.0f), 0.0f);
}

TEST(Math, ActivationsFollowTheirFormulas) {
  for (f32 x = -12.0f; x < 12.0f; x += 0.0137f) {
    const f64 d = static_cast<f64>(x);
    EXPECT_NEAR(math_swish(x), d / (1.0 + std::exp(-d)), 1e-6 * (1.0 + std::fabs(d)));
    EXPECT_NEAR(math_gelu(x), 0.5 * d * (1.0 + std::erf(d / std::sqrt(2.0))),
                1e-6 * (1.0 + std::fabs(d)));
    EXPECT_NEAR(math_gelu_tanh(x),
                0.5 * d * (1.0 + std::tanh(0.7978845608028654 * (d + 0.044715 * d * d * d))),
                1e-6 * (1.0 + std::fabs(d)));
    const f64 hard = std::min(1.0, std::max(0.0, d / 6.0 + 0.5));
    EXPECT_NEAR(math_hard_swish(x), d * hard, 1e-6 * (1.0 + std::fabs(d)));
  }
}

}  // namespace
}  // namespace octet
