// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/dot.h"

#include <gtest/gtest.h>

#include "ops/shared/op_testing.h"

namespace octet {
namespace {

TEST(Dot, FloatsAreTheSixteenLanesOfAllReductions) {
  testing::Random random(1);
  const Tensor a = random.reals(Shape{80}, -1.0f, 1.0f), b = random.reals(Shape{80}, -1.0f, 1.0f);
  const f32* pa = a.as<f32>().data();
  const f32* pb = b.as<f32>().data();
  for (s64 n = 0; n <= 80; ++n) {
    EXPECT_EQ(dot(pa, pb, n), lane_sum(n, [&](s64 i) { return pa[i] * pb[i]; })) << n;
  }
}

TEST(Dot, IntegersWrapModulo32Bits) {
  const std::vector<s16> largest(40000, 255);
  const u64 exact = 40000ull * 255 * 255;
  EXPECT_EQ(static_cast<u32>(dot(largest.data(), largest.data(), 40000)), static_cast<u32>(exact));
}

}  // namespace
}  // namespace octet
