// SPDX-License-Identifier: Apache-2.0
#include "calibrate/channel_histograms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace octet {
namespace {

Tensor image(u32 seed, f32 first, f32 second) {
  Tensor tensor(Dtype::f32, {1, 2, 8, 8});
  std::mt19937 random(seed);
  const auto values = tensor.mutable_as<f32>();
  for (size_t i = 0; i < values.size(); ++i) {
    const f32 unit = static_cast<f32>(random() % 2001) / 1000.0f - 1.0f;
    values[i] = unit * (i < 64 ? first : second);
  }
  return tensor;
}

u64 total(const Histogram& histogram) {
  return std::accumulate(histogram.counts().begin(), histogram.counts().end(), u64{0});
}

const std::vector<s8> kPlain = {0, 0};

TEST(ChannelHistograms, OrderAndPartsMakeNoDifference) {
  ChannelHistograms forward, backward, merged;
  for (u32 i = 0; i < 5; ++i) forward.observe(image(i, 0.01f * static_cast<f32>(i), 1.0f));
  for (u32 i = 5; i-- > 0;) {
    const Tensor one = image(i, 0.01f * static_cast<f32>(i), 1.0f);
    backward.observe(one);
    ChannelHistograms part;
    part.observe(one);
    merged.merge(part);
  }
  const auto a = forward.joined(kPlain, -1.0f, 1.0f), b = backward.joined(kPlain, -1.0f, 1.0f);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(*a, *merged.joined(kPlain, -1.0f, 1.0f));
  EXPECT_EQ(total(*a), 5u * 128u);
}

// Parts whose largest values lie up to twenty octaves apart, more than the bins reach.
TEST(ChannelHistograms, PartsOfVeryDifferentSizeMerge) {
  for (int octaves = 0; octaves <= 20; octaves += 5) {
    const f32 little = std::ldexp(1.0f, -octaves);
    const Tensor small = image(7, little, 1.0f), large = image(8, 1.0f, little);
    ChannelHistograms whole, a, b, merged;
    for (const Tensor& one : {small, large}) whole.observe(one);
    a.observe(small);
    b.observe(large);
    for (const ChannelHistograms* part : {&a, &b}) merged.merge(*part);
    const auto want = whole.joined(kPlain, -1.0f, 1.0f), got = merged.joined(kPlain, -1.0f, 1.0f);
    ASSERT_TRUE(want && got);
    EXPECT_EQ(*got, *want) << octaves;
    EXPECT_EQ(total(*got), 2u * 128u);
  }
}

TEST(ChannelHistograms, NothingIsLeftBehindClear) {
  ChannelHistograms used, fresh;
  used.observe(image(1, 8.0f, 4.0f));
  used.clear();
  EXPECT_EQ(used.channels(), 0u);
  for (ChannelHistograms* one : {&used, &fresh}) one->observe(image(2, 0.5f, 1.0f));
  EXPECT_EQ(*used.joined(kPlain, -1.0f, 1.0f), *fresh.joined(kPlain, -1.0f, 1.0f));
}

// A channel that is multiplied has the counts that it would have had.
TEST(ChannelHistograms, PowersOfTwoMoveCounts) {
  ChannelHistograms quiet, loud;
  quiet.observe(image(3, 1.0f, 0.125f));
  loud.observe(image(3, 1.0f, 1.0f));
  const std::vector<s8> up = {0, 3};
  EXPECT_EQ(*quiet.joined(up, -1.0f, 1.0f), *loud.joined(kPlain, -1.0f, 1.0f));
}

TEST(ChannelHistograms, WhatIsNotFiniteIsLeftOut) {
  Tensor x(Dtype::f32, {1, 2, 1, 2});
  const std::vector<f32> values = {1.0f, std::numeric_limits<f32>::infinity(),
                                   std::numeric_limits<f32>::quiet_NaN(), 0.0f};
  std::ranges::copy(values, x.mutable_as<f32>().begin());
  ChannelHistograms seen;
  seen.observe(x);
  const auto joined = seen.joined(kPlain, 0.0f, 1.0f);
  ASSERT_TRUE(joined);
  EXPECT_EQ(total(*joined), 2u);
  EXPECT_EQ(joined->zeros(), 1u);
}

TEST(ChannelHistograms, OtherTensorsAreNoImages) {
  ChannelHistograms seen;
  seen.observe(Tensor(Dtype::f32, {2, 2}));
  EXPECT_EQ(seen.channels(), 0u);
}

}  // namespace
}  // namespace octet
