// SPDX-License-Identifier: Apache-2.0
#include "octet/error_stats.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/types.h"

namespace octet {
namespace {

constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();

TEST(ErrorStats, EqualTensorsHaveInfiniteSqnr) {
  const std::array<f32, 3> x = {1.0f, -2.0f, 3.0f};
  ErrorStats stats;
  stats.add(x, x);
  EXPECT_EQ(stats.sqnr_db(), std::numeric_limits<f64>::infinity());
  EXPECT_DOUBLE_EQ(stats.cosine(), 1.0);
  EXPECT_EQ(stats.max_abs(), 0.0);
}

TEST(ErrorStats, KnownValuesOverTwoParts) {
  const std::array<f32, 2> r = {3.0f, 4.0f};
  const std::array<f32, 2> t = {3.0f, 4.5f};
  ErrorStats stats;
  stats.add(std::span(r).first(1), std::span(t).first(1));
  stats.add(std::span(r).last(1), std::span(t).last(1));
  EXPECT_DOUBLE_EQ(stats.sqnr_db(), 10 * std::log10(25.0 / 0.25));
  EXPECT_DOUBLE_EQ(stats.cosine(), (9.0 + 18.0) / (5.0 * std::sqrt(9.0 + 20.25)));
  EXPECT_EQ(stats.max_abs(), 0.5);
  EXPECT_EQ(stats.elements(), 2);
}

TEST(ErrorStats, EqualInfinitiesAgreeAndLoneNanDoesNot) {
  const std::array<f32, 2> r = {kInfinity, 1.0f};
  ErrorStats same;
  same.add(r, r);
  EXPECT_EQ(same.max_abs(), 0.0);
  const std::array<f32, 2> t = {kInfinity, kNan};
  ErrorStats broken;
  broken.add(r, t);
  EXPECT_EQ(broken.sqnr_db(), -std::numeric_limits<f64>::infinity());
}

TEST(ErrorStats, ZeroReferenceAgainstSomethingIsNotSimilar) {
  const std::array<f32, 1> r = {0.0f};
  const std::array<f32, 1> t = {1.0f};
  ErrorStats stats;
  stats.add(r, t);
  EXPECT_EQ(stats.sqnr_db(), -std::numeric_limits<f64>::infinity());
  EXPECT_EQ(stats.cosine(), 0.0);
}

}  // namespace
}  // namespace octet
