// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization against doubles, for both types of codes; and when it is made.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/registry.h"
#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::OpCall;
using testing::Random;
using testing::tensor;
using testing::values_of;

constexpr f32 kScaleX = 0.07f, kScaleY = 0.021f, kEpsilon = 1e-3f;
constexpr s64 kZeroY = 117;

Tensor normalized(const Tensor& x, const Tensor& scale, const Tensor& bias, s64 zero_x) {
  return OpCall("QInstanceNormalization")
      .in(x)
      .in(scale)
      .in(bias)
      .attr("scales", std::vector<f32>{kScaleX, kScaleY})
      .attr("epsilon", kEpsilon)
      .attr("output_zero_point", kZeroY)
      .attr("output_dtype", std::string("u8"))
      .ints("input_zero_points", {zero_x, 0, 0})
      .run();
}

Tensor codes_of(const Shape& shape, u32 seed) {
  Random random(seed);
  const Tensor reals = random.reals(shape, 0.0f, 255.0f);
  Tensor codes(Dtype::u8, shape);
  for (size_t i = 0; i < codes.bytes(); ++i)
    codes.mutable_as<u8>()[i] = static_cast<u8>(reals.as<f32>()[i]);
  return codes;
}

// The real result in steps of the output; what f32 may move it by: the roundings of slope and offset and of the fma.
struct Expected {
  f64 steps, bound;
};

Expected expected_of(std::span<const u8> plane, u8 code, f64 scale, f64 bias) {
  f64 mean = 0, variance = 0;
  for (u8 q : plane) mean += q;
  mean /= static_cast<f64>(plane.size());
  for (u8 q : plane) variance += (q - mean) * (q - mean);
  variance /= static_cast<f64>(plane.size());
  const f64 slope =
      scale * kScaleX / std::sqrt(f64{kScaleX} * kScaleX * variance + kEpsilon) / kScaleY;
  const f64 offset = bias / kScaleY - slope * mean;
  return {slope * code + offset, 4 * std::ldexp(255 * std::fabs(slope) + std::fabs(offset), -24)};
}

TEST(QInstanceNormalization, IsTheNearestCode) {
  const s64 count = 5 * 7;
  const Tensor x = codes_of({2, 4, 5, 7}, 1);
  Random random(2);
  const Tensor scale = random.reals({4}, -2.0f, 2.0f), bias = random.reals({4}, -1.0f, 1.0f);
  const Tensor y = normalized(x, scale, bias, 90);
  for (size_t i = 0; i < y.bytes(); ++i) {
    const size_t plane = i / count, channel = plane % 4;
    const Expected want = expected_of(x.as<u8>().subspan(plane * count, count), x.as<u8>()[i],
                                      f64{scale.as<f32>()[channel]}, f64{bias.as<f32>()[channel]});
    const f64 steps = std::fmin(std::fmax(want.steps, -f64{kZeroY}), 255.0 - kZeroY);
    EXPECT_LE(std::fabs(y.as<u8>()[i] - f64{kZeroY} - steps), 0.5 + want.bound) << i;
  }
}

TEST(QInstanceNormalization, NeitherTheTypeNorTheZeroPointOfTheInputMatters) {
  const Tensor x = codes_of({1, 3, 4, 4}, 3);
  Tensor shifted(Dtype::s8, x.shape());
  for (size_t i = 0; i < x.bytes(); ++i)
    shifted.mutable_as<s8>()[i] = static_cast<s8>(x.as<u8>()[i] - 128);
  Random random(4);
  const Tensor scale = random.reals({3}, -2.0f, 2.0f), bias = random.reals({3}, -1.0f, 1.0f);
  const auto want = values_of<u8>(normalized(x, scale, bias, 12));
  EXPECT_EQ(values_of<u8>(normalized(x, scale, bias, 200)), want);
  EXPECT_EQ(values_of<u8>(normalized(shifted, scale, bias, 5)), want);
}

TEST(QInstanceNormalization, OnePixelIsTheBias) {
  const Tensor one = tensor<f32>({1}, {1.0f}), bias = tensor<f32>({1}, {0.21f});
  EXPECT_EQ(values_of<u8>(normalized(codes_of({1, 1, 1, 1}, 5), one, bias, 3)),
            std::vector<u8>{kZeroY + 10});
  EXPECT_EQ(normalized(Tensor(Dtype::u8, {1, 1, 0, 1}), one, bias, 3).elements(), 0);
}

TEST(QInstanceNormalization, Errors) {
  const Tensor x = codes_of({1, 3, 2, 2}, 6), three(Dtype::f32, {3}), two(Dtype::f32, {2});
  const auto error = [&](const Tensor& scale, std::vector<f32> scales) {
    return OpCall("QInstanceNormalization")
        .in(x)
        .in(scale)
        .in(three)
        .attr("scales", std::move(scales))
        .error();
  };
  EXPECT_EQ(error(three, {1.0f, 1.0f}), "");
  EXPECT_NE(error(two, {1.0f, 1.0f}), "");
  EXPECT_NE(error(three, {1.0f, 0.0f}), "");
  EXPECT_NE(error(three, {1.0f}), "");
}

}  // namespace
}  // namespace octet
