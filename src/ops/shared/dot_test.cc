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

TEST(Dot, IntegersAreExactBeyond32Bits) {
  const std::vector<s16> largest(100000, 255), lowest(100000, -255);
  for (s64 n : {0, 1, 32767, 32768, 32769, 65536, 100000}) {
    EXPECT_EQ(dot(largest.data(), largest.data(), n), n * 255 * 255) << n;
    EXPECT_EQ(dot(largest.data(), lowest.data(), n), -n * 255 * 255) << n;
  }
  EXPECT_EQ(wrapped(dot(largest.data(), largest.data(), 40000)),
            static_cast<s32>(static_cast<u32>(40000ull * 255 * 255)));
}

}  // namespace
}  // namespace octet
