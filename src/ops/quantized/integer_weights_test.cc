// SPDX-License-Identifier: Apache-2.0
// Weights with zero points as sums of s8 parts.
#include "ops/quantized/integer_weights.h"

#include "ops/shared/op_testing.h"

namespace octet::testing {
namespace {

// The sum of the parts of weights of [O][inputs], for each of `channels` input channels.
std::vector<s64> summed(const S8Weights& weights, s64 outputs, s64 channels) {
  const auto codes = weights.codes.as<s8>();
  const s64 inputs = std::ssize(weights.inputs);
  std::vector<s64> sums(static_cast<size_t>(outputs * channels), 0);
  for (s64 i = 0; i < weights.codes.elements(); ++i) {
    const s64 channel = weights.inputs[static_cast<size_t>(i % inputs)];
    sums[static_cast<size_t>(i / inputs * channels + channel)] += codes[static_cast<size_t>(i)];
  }
  return sums;
}

TEST(S8Weights, PartsSumToTheDifferenceForEveryCodeAndZeroPoint) {
  Tensor codes(Dtype::u8, Shape{1, 256, 1});
  for (size_t i = 0; i < 256; ++i) codes.mutable_as<u8>()[i] = static_cast<u8>(i);
  for (s64 zero = 0; zero < 256; ++zero) {
    const Tensor zero_point = Tensor::scalar(static_cast<u8>(zero));
    const auto weights = s8_weights(codes, &zero_point, {0, 1});
    ASSERT_TRUE(weights.has_value());
    const s64 beyond = std::abs(128 - zero) + (zero == 0 ? 1 : 0);  // w - 0 = 255 has three parts
    EXPECT_EQ(std::ssize(weights->inputs), 256 + beyond);
    const std::vector<s64> sums = summed(*weights, 1, 256);
    for (s64 i = 0; i < 256; ++i) EXPECT_EQ(sums[static_cast<size_t>(i)], i - zero);
  }
}

TEST(S8Weights, ZeroPointsOfChannels) {
  const Tensor codes = Tensor::of<s8>(Shape{2, 2, 1}, std::vector<s8>{100, -100, 5, 6});
  const Tensor zeros = Tensor::of<s8>(Shape{2}, std::vector<s8>{-100, 5});
  const auto weights = s8_weights(codes, &zeros, {0, 1});
  ASSERT_TRUE(weights.has_value());
  EXPECT_EQ(weights->inputs, (std::vector<s64>{0, 1, 0}))
      << "one channel has a weight of nine bits";
  EXPECT_EQ(weights->max_sum, 200);
  EXPECT_EQ(summed(*weights, 2, 2), (std::vector<s64>{200, 0, 0, 1}));
  const Tensor three = Tensor::of<s8>(Shape{3}, std::vector<s8>{0, 0, 0});
  EXPECT_FALSE(s8_weights(codes, &three, {0, 1}).has_value());
  const Tensor other = Tensor::scalar<u8>(0);
  EXPECT_FALSE(s8_weights(codes, &other, {0, 1}).has_value());
}

// [3 rows of K][2 columns], as a matrix product has them.
TEST(S8Weights, OnlyTheRowsWithNineBitsAreRepeated) {
  const Tensor codes = Tensor::of<u8>(Shape{3, 2}, std::vector<u8>{100, 90, 10, 255, 120, 110});
  const Tensor zero = Tensor::scalar<u8>(100);
  const auto weights = s8_weights(codes, &zero, {1, 0});
  ASSERT_TRUE(weights.has_value());
  EXPECT_EQ(weights->inputs, (std::vector<s64>{0, 1, 2, 1}));
  EXPECT_EQ(weights->codes.shape(), (Shape{4, 2}));
  const auto given = weights->codes.as<s8>();
  EXPECT_EQ(std::vector<s8>(given.begin(), given.end()),
            (std::vector<s8>{0, -10, -90, 127, 20, 10, 0, 28}));
  EXPECT_EQ(repeated_order({2, 3, 1}, weights->inputs), (std::vector<s64>{0, 1, 2, 1, 3, 4, 5, 4}));
}

}  // namespace
}  // namespace octet::testing
