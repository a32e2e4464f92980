// SPDX-License-Identifier: Apache-2.0
#include "pipeline/output_power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace octet {
namespace {

// One sample with two outputs.
std::vector<std::vector<Tensor>> outputs(std::vector<f32> first, std::vector<f32> second) {
  std::vector<Tensor> sample;
  for (const std::vector<f32>& values : {first, second})
    sample.push_back(Tensor::of<f32>(Shape{std::ssize(values)}, values));
  return {sample};
}

TEST(OutputPower, OfEachOutputAndOfAll) {
  const auto truth = outputs({3, 4}, {0.1f, 0}), got = outputs({3, 5}, {0.1f, 0.1f});
  EXPECT_DOUBLE_EQ(error_power(truth, got, 0)->error, 1);
  EXPECT_DOUBLE_EQ(error_power(truth, got, 0)->power, 25);
  EXPECT_NEAR(*mean_relative_error(truth, got), (1.0 / 25 + 1) / 2, 1e-9) << "small ones count";
  EXPECT_NEAR(relative_error(truth, got), 1.01 / 25.01, 1e-6);
  EXPECT_EQ(relative_error(truth, truth), 0);
}

TEST(OutputPower, OfWhatIsNothing) {
  const auto truth = outputs({0, 0}, {1, 1}), got = outputs({0, 2}, {1, 1});
  EXPECT_EQ(*mean_relative_error(truth, got), 0.5);
  EXPECT_EQ(*mean_relative_error(truth, truth), 0);
}

TEST(OutputPower, WhereNoNumberSaysIt) {
  constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN(),
                kInf = std::numeric_limits<f32>::infinity();
  const auto truth = outputs({1, -kInf}, {1, kNan});
  EXPECT_EQ(error_power(truth, truth, 0)->error, 0) << "the same infinity";
  EXPECT_EQ(error_power(truth, truth, 1)->error, 0) << "NaN where the model has it";
  EXPECT_FALSE(error_power(truth, outputs({1, 5}, {1, kNan}), 0));
  EXPECT_FALSE(mean_relative_error(truth, outputs({1, kNan}, {1, kNan})));
  EXPECT_FALSE(error_power(truth, outputs({1, -kInf, 0}, {1, kNan}), 0)) << "another size";
  EXPECT_EQ(relative_error(truth, outputs({1, 5}, {1, kNan})), 1);
}

}  // namespace
}  // namespace octet
