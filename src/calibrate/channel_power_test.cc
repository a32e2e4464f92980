// SPDX-License-Identifier: Apache-2.0
#include "calibrate/channel_power.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "arch/isa.h"
#include "calibrate/stream_args.h"

namespace octet {
namespace {

Tensor image(const std::vector<f32>& values) {
  return Tensor::of<f32>(Shape{1, 2, 1, std::ssize(values) / 2}, values);
}

TEST(ChannelPower, MeansOfEachChannel) {
  ChannelPower power;
  power.observe(image({1, 3, -2, -4}));
  power.observe(image({5, 5, 0, 0}));
  EXPECT_EQ(power.means(), (std::vector<f64>{3.5, -1.5}));
  EXPECT_EQ(power.mean_squares(), (std::vector<f64>{15.0, 5.0}));
  EXPECT_EQ(power.minima(), (std::vector<f64>{1.0, -4.0}));
  EXPECT_EQ(power.maxima(), (std::vector<f64>{5.0, 0.0}));
}

// Sums of small integers are exact in whatever order.
TEST(ChannelPower, EveryLengthIsSeenWhole) {
  for (s64 length = 1; length <= 40; ++length) {
    std::vector<f32> values;
    f64 sum = 0, squares = 0;
    for (s64 i = 0; i < length; ++i) {
      values.push_back(static_cast<f32>(i * 7 % 13 - 5));
      sum += values.back();
      squares += f64{values.back()} * values.back();
    }
    ChannelPower power;
    power.observe(Tensor::of<f32>(Shape{1, 1, 1, length}, values));
    const f64 count = static_cast<f64>(length);
    EXPECT_DOUBLE_EQ(power.means()[0], sum / count) << length;
    EXPECT_DOUBLE_EQ(power.mean_squares()[0], squares / count) << length;
    EXPECT_EQ(power.minima()[0], *std::ranges::min_element(values)) << length;
    EXPECT_EQ(power.maxima()[0], *std::ranges::max_element(values)) << length;
    power.clear();
    EXPECT_TRUE(power.means().empty());
  }
}

TEST(ChannelPower, Avx2AddsInTheSameOrder) {
  if (!hardware_has(Isa::avx2)) GTEST_SKIP() << "no AVX2";
  std::mt19937 random(3);
  std::vector<f32> values(1003);
  for (f32& v : values)
    v = std::ldexp(static_cast<f32>(random() % 2000) - 1000, static_cast<int>(random() % 60) - 30);
  MomentLanes expected, got;
  for (size_t i = 0; i < values.size() / kMomentLanes * kMomentLanes; ++i) {
    expected.squares[i % kMomentLanes] += f64{values[i]} * f64{values[i]};
    expected.values[i % kMomentLanes] += f64{values[i]};
  }
  add_moments_avx2(values.data(), values.size(), got);
  for (size_t lane = 0; lane < kMomentLanes; ++lane) {
    EXPECT_EQ(got.squares[lane], expected.squares[lane]) << lane;
    EXPECT_EQ(got.values[lane], expected.values[lane]) << lane;
  }
}

TEST(ChannelPower, TheOrderDoesNotMatter) {
  ChannelPower a, b, c;
  const std::vector<std::vector<f32>> images{
      {0.1f, 1e-9f, 3e10f, -7.3f}, {1e-3f, -0.7f, 1e-20f, 0.3f}, {9e4f, 1.1f, -3.3f, 2.2f}};
  for (size_t i = 0; i < 3; ++i) a.observe(image(images[i]));
  for (size_t i = 3; i-- > 0;) (i == 1 ? c : b).observe(image(images[i]));
  b.merge(c);
  EXPECT_EQ(a.means(), b.means());
  EXPECT_EQ(a.mean_squares(), b.mean_squares());
  EXPECT_EQ(a.minima(), b.minima());
  EXPECT_EQ(a.maxima(), b.maxima());
}

TEST(ChannelPower, ZerosOfBothSignsAreOne) {
  ChannelPower power;
  power.observe(image({-0.0f, -0.0f, 1, -0.0f}));
  EXPECT_FALSE(std::signbit(power.minima()[0]) || std::signbit(power.maxima()[0]));
  EXPECT_FALSE(std::signbit(power.minima()[1]));
}

TEST(ChannelPower, OtherTensorsAndValuesThatAreNotFinite) {
  ChannelPower power;
  EXPECT_TRUE(power.means().empty());
  power.observe(Tensor(Dtype::f32, Shape{2, 3}));
  EXPECT_TRUE(power.means().empty());
  power.observe(image({std::numeric_limits<f32>::infinity(), 1, 2, 2}));
  EXPECT_EQ(power.means(), (std::vector<f64>{0.0, 2.0}));
  EXPECT_EQ(power.maxima(), (std::vector<f64>{1.0, 2.0}));
}

}  // namespace
}  // namespace octet
