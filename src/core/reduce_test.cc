// SPDX-License-Identifier: Apache-2.0
#include "core/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace octet {
namespace {

TEST(Reduce, SumsInLaneOrder) {
  // 2^24 and ones: each order of additions gives another result, ours keeps the ones of other lanes.
  std::vector<f32> x(40, 1.0f);
  x[0] = 16777216.0f;
  // Lane 0: 2^24 + 1 + 1 = 2^24 (each one is lost to ties-to-even). Lanes 1..7 hold 3, lanes 8..15 hold 2.
  // 8: lane 0 = 2^24 + 2, others 5. 4: 2^24 + 7 -> 2^24 + 8, others 10. 2: 2^24 + 18, 20. 1: 2^24 + 38.
  EXPECT_EQ(lane_sum(x), 16777216.0f + 38.0f);
}

TEST(Reduce, ShortAndEmptyInputs) {
  EXPECT_EQ(lane_sum(std::span<const f32>{}), 0.0f);
  for (size_t n = 1; n < 70; ++n) {
    std::vector<f32> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<f32>(i);
    EXPECT_EQ(lane_sum(x), static_cast<f32>(n * (n - 1) / 2));
    EXPECT_EQ(lane_max(x), static_cast<f32>(n - 1));
  }
}

TEST(Reduce, MaxSkipsNan) {
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  const std::vector<f32> x{nan, -3.0f, nan, -1.0f};
  EXPECT_EQ(lane_max(x), -1.0f);
  EXPECT_EQ(lane_min(4, [&](s64 i) { return x[static_cast<size_t>(i)]; }), -3.0f);
}

TEST(Reduce, GathersWithAStride) {
  std::vector<f32> x(90);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<f32>(i);
  EXPECT_EQ(lane_sum(30, [&](s64 i) { return x[static_cast<size_t>(i * 3)]; }), 3.0f * 435.0f);
}

}  // namespace
}  // namespace octet
