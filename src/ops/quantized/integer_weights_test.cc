// SPDX-License-Identifier: Apache-2.0
// Weights with zero points as sums of s8 parts.
#include "ops/quantized/integer_weights.h"

#include "ops/shared/op_testing.h"

namespace octet::testing {
namespace {

// The sum of the parts of [O][parts * I] weights.
std::vector<s64> summed(const S8Weights& weights, s64 outputs) {
  const auto codes = weights.codes.as<s8>();
  const s64 inputs = weights.codes.elements() / outputs / weights.parts;
  std::vector<s64> sums(static_cast<size_t>(outputs * inputs), 0);
  for (s64 i = 0; i < weights.codes.elements(); ++i) {
    const s64 o = i / (inputs * weights.parts);
    sums[static_cast<size_t>(o * inputs + i % inputs)] += codes[static_cast<size_t>(i)];
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
    EXPECT_EQ(weights->parts, zero == 128 ? 1 : (zero == 0 ? 3 : 2));
    const std::vector<s64> sums = summed(*weights, 1);
    for (s64 i = 0; i < 256; ++i) EXPECT_EQ(sums[static_cast<size_t>(i)], i - zero);
  }
}

TEST(S8Weights, ZeroPointsOfChannels) {
  const Tensor codes = Tensor::of<s8>(Shape{2, 2, 1}, std::vector<s8>{100, -100, 5, 6});
  const Tensor zeros = Tensor::of<s8>(Shape{2}, std::vector<s8>{-100, 5});
  const auto weights = s8_weights(codes, &zeros, {0, 1});
  ASSERT_TRUE(weights.has_value());
  EXPECT_EQ(weights->parts, 2);
  EXPECT_EQ(weights->max_sum, 200);
  EXPECT_EQ(summed(*weights, 2), (std::vector<s64>{200, 0, 0, 1}));
  const Tensor three = Tensor::of<s8>(Shape{3}, std::vector<s8>{0, 0, 0});
  EXPECT_FALSE(s8_weights(codes, &three, {0, 1}).has_value());
  const Tensor other = Tensor::scalar<u8>(0);
  EXPECT_FALSE(s8_weights(codes, &other, {0, 1}).has_value());
}

}  // namespace
}  // namespace octet::testing
