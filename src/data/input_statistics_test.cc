// SPDX-License-Identifier: Apache-2.0
#include "data/input_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace octet::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr s64 kEnough = 32;

Tensor image(std::initializer_list<f32> values, const Shape& shape) {
  Tensor tensor(Dtype::f32, shape);
  std::copy(values.begin(), values.end(), tensor.mutable_as<f32>().begin());
  return tensor;
}

InputStatistics fed(const TensorInfo& info, const Tensor& sample, s64 times = kEnough) {
  InputStatistics statistics({&info, 1});
  for (s64 i = 0; i < times; ++i) statistics.add({&sample, 1});
  return statistics;
}

const TensorInfo kImage{"x", {Dtype::f32, {1, 3, 1, 2}}};

TEST(InputStatistics, EachChannelOfAnImage) {
  const auto seen = fed(kImage, image({0, 1, 2, 2, -4, 0}, {1, 3, 1, 2}), 2).summaries();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].input, "x");
  EXPECT_EQ(seen[0].samples, 2);
  EXPECT_EQ(seen[0].min, -4);
  EXPECT_EQ(seen[0].max, 2);
  EXPECT_THAT(seen[0].mean, ElementsAre(0.5, 2, -2));
  EXPECT_THAT(seen[0].deviation, ElementsAre(0.5, 0, 2));
}

TEST(InputStatistics, ChannelsThatComeLast) {
  const TensorInfo info{"x", {Dtype::f32, {Shape::kDynamic, 2, 1, 3}}};
  const auto seen = fed(info, image({0, 2, -4, 1, 2, 0}, {1, 2, 1, 3})).summaries();
  EXPECT_THAT(seen[0].mean, ElementsAre(0.5, 2, -2));
}

TEST(InputStatistics, WhatIsNoImageIsOneChannel) {
  const TensorInfo info{"ids", {Dtype::s64, {1, 4}}};
  Tensor ids(Dtype::s64, {1, 4});
  for (s64 i = 0; i < 4; ++i) ids.mutable_as<s64>()[static_cast<size_t>(i)] = 1000 * i;
  const InputStatistics statistics = fed(info, ids);
  EXPECT_THAT(statistics.summaries()[0].mean, ElementsAre(1500));
  EXPECT_THAT(statistics.doubts(false), IsEmpty()) << "only images have a usual range";
}

std::string doubts(const Tensor& sample, bool raw_pixels = false, s64 times = kEnough) {
  std::string all;
  for (const std::string& doubt : fed(kImage, sample, times).doubts(raw_pixels))
    all += doubt + '\n';
  return all;
}

TEST(InputStatistics, Doubts) {
  const Shape shape{1, 3, 1, 2};
  const Tensor good = image({0, 1, .5f, .2f, 0, 1}, shape);
  const Tensor pixels = image({0, 255, 3, 9, 100, 7}, shape);
  EXPECT_EQ(doubts(good), "");
  EXPECT_THAT(doubts(good, false, 31), HasSubstr("31 samples only"));
  EXPECT_THAT(doubts(image({0, 0, 0, 0, 0, 0}, shape)), HasSubstr("is 0 in every sample"));
  EXPECT_THAT(doubts(image({2, 2, 2, 2, 2, 2}, shape)), HasSubstr("is 2 everywhere"));
  EXPECT_THAT(doubts(pixels), HasSubstr("as pixels are stored"));
  EXPECT_EQ(doubts(pixels, true), "");
  EXPECT_THAT(doubts(image({0, .001f, 0, .002f, 0, 0}, shape)), HasSubstr("scaled twice"));
  EXPECT_EQ(doubts(image({-120, 130, 0, 9, 3, 2}, shape)), "") << "a mean was taken away";
}

}  // namespace
}  // namespace octet::test
