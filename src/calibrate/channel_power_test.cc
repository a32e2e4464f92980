// SPDX-License-Identifier: Apache-2.0
#include "calibrate/channel_power.h"

#include <gtest/gtest.h>

#include <limits>

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
}

TEST(ChannelPower, OtherTensorsAndValuesThatAreNotFinite) {
  ChannelPower power;
  EXPECT_TRUE(power.means().empty());
  power.observe(Tensor(Dtype::f32, Shape{2, 3}));
  EXPECT_TRUE(power.means().empty());
  power.observe(image({std::numeric_limits<f32>::infinity(), 1, 2, 2}));
  EXPECT_EQ(power.means(), (std::vector<f64>{0.0, 2.0}));
}

}  // namespace
}  // namespace octet
