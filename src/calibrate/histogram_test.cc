// SPDX-License-Identifier: Apache-2.0
#include "calibrate/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "core/error_testing.h"

namespace octet::test {
namespace {

Histogram observed(std::span<const f32> values) {
  Histogram histogram;
  histogram.observe(values);
  return histogram;
}

// Values over thirty decades, with zeros of both signs, so that every batch order grows the bins differently.
std::vector<f32> wild_values(size_t count, u32 seed) {
  std::mt19937 random(seed);
  std::vector<f32> values(count);
  for (f32& v : values) {
    const int exponent = static_cast<int>(random() % 100) - 60;
    v = std::ldexp(static_cast<f32>(random() % 2000) - 1000, exponent);
    if (random() % 8 == 0) v = random() % 2 == 0 ? 0.0f : -0.0f;
  }
  return values;
}

TEST(Histogram, CountsIntoBinsOfThePublishedWidth) {
  const std::vector<f32> values = wild_values(5000, 1);
  const Histogram histogram = observed(values);
  std::vector<u64> counts(Histogram::kBins);
  u64 zeros = 0;
  for (f32 v : values) {
    ++counts[static_cast<size_t>(
        std::floor(std::abs(static_cast<f64>(v)) / histogram.bin_width()))];
    zeros += v == 0;
  }
  EXPECT_TRUE(std::ranges::equal(histogram.counts(), counts));
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.zeros(), zeros);
  EXPECT_EQ(histogram.min(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end()));
}

TEST(Histogram, EveryLengthIsSeenWhole) {
  for (size_t length = 1; length <= 40; ++length) {
    std::vector<f32> values = wild_values(length, static_cast<u32>(length));
    if (length % 3 == 0) values.back() = 0;
    const Histogram histogram = observed(values);
    EXPECT_EQ(histogram.zeros(), static_cast<u64>(std::ranges::count(values, 0.0f))) << length;
    EXPECT_EQ(histogram.min(), *std::min_element(values.begin(), values.end())) << length;
    EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end())) << length;
    EXPECT_EQ(std::accumulate(histogram.counts().begin(), histogram.counts().end(), u64{0}),
              length);
  }
}

TEST(Histogram, WidthFollowsFromTheLargestValueAlone) {
  for (f32 amax : {1.0f, 1.999999f, 2.0f, 3e38f, 1e-30f, 0x1p-114f, -7.0f}) {
    const std::vector<f32> values = {0, amax / 3, amax};
    const f64 bins = std::abs(static_cast<f64>(amax)) / observed(values).bin_width();
    EXPECT_GE(bins, 2048) << amax;
    EXPECT_LT(bins, 4096) << amax;
  }
  // Denormals: narrower bins would themselves be denormal.
  EXPECT_EQ(observed(std::vector<f32>{1e-40f}).bin_width(), 0x1p-126);
}

TEST(Histogram, OrderAndBatchesDoNotMatter) {
  std::vector<f32> values = wild_values(100000, 2);
  const Histogram whole = observed(values);
  std::mt19937 random(3);
  for (size_t batch : {1u, 7u, 1000u, 30000u}) {
    std::shuffle(values.begin(), values.end(), random);
    Histogram histogram;
    for (size_t at = 0; at < values.size(); at += batch) {
      histogram.observe(std::span(values).subspan(at, std::min(batch, values.size() - at)));
    }
    EXPECT_TRUE(histogram == whole) << "batches of " << batch;
  }
  std::sort(values.begin(), values.end(), [](f32 a, f32 b) { return std::abs(a) < std::abs(b); });
  EXPECT_TRUE(observed(values) == whole);
  std::reverse(values.begin(), values.end());
  EXPECT_TRUE(observed(values) == whole);
}

TEST(Histogram, MergeIsExactAndCommutes) {
  const std::vector<f32> values = wild_values(50000, 4);
  const Histogram whole = observed(values);
  std::vector<Histogram> parts;
  for (size_t at = 0; at < values.size(); at += 12500)
    parts.push_back(observed(std::span(values).subspan(at, 12500)));
  std::vector<size_t> order = {0, 1, 2, 3};
  do {
    Histogram merged;
    for (size_t i : order) merged.merge(parts[i]);
    EXPECT_TRUE(merged == whole);
  } while (std::next_permutation(order.begin(), order.end()));
  Histogram left = parts[0], right = parts[2];
  left.merge(parts[1]);
  right.merge(parts[3]);
  left.merge(right);
  EXPECT_TRUE(left == whole);
}

TEST(Histogram, SmallAndLargeBatchesCountAlike) {
  // Above 16384 values four tables are used; a tail that is no multiple of four comes too.
  const std::vector<f32> values = wild_values(70003, 5);
  Histogram small;
  for (size_t at = 0; at < values.size(); at += 100) {
    small.observe(std::span(values).subspan(at, std::min<size_t>(100, values.size() - at)));
  }
  EXPECT_TRUE(small == observed(values));
}

TEST(Histogram, ZerosAndNothing) {
  const Histogram none;
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.amax(), 0.0f);
  const Histogram zeros = observed(std::vector<f32>{-0.0f, 0.0f, -0.0f});
  EXPECT_EQ(zeros.zeros(), 3u);
  EXPECT_EQ(zeros.counts()[0], 3u);
  EXPECT_FALSE(std::signbit(zeros.min()));
  Histogram merged = zeros;
  merged.merge(none);
  EXPECT_TRUE(merged == zeros);
  Histogram grown = zeros;
  grown.observe(std::vector<f32>{5.0f});
  EXPECT_TRUE(grown == observed(std::vector<f32>{5.0f, -0.0f, 0.0f, 0.0f}));
}

TEST(Histogram, NanAndInfAreCountedApart) {
  constexpr f32 kInf = std::numeric_limits<f32>::infinity();
  constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();
  const Histogram mixed = observed(std::vector<f32>{1, kNan, -2, kInf, -kInf, -kNan, 0});
  EXPECT_EQ(mixed.nans(), 2u);
  EXPECT_EQ(mixed.infs(), 2u);
  EXPECT_EQ(mixed.count(), 3u);
  EXPECT_EQ(mixed.zeros(), 1u);
  EXPECT_EQ(mixed.min(), -2);
  EXPECT_EQ(mixed.max(), 1);
  const Histogram clean = observed(std::vector<f32>{1, -2, 0});
  EXPECT_TRUE(std::ranges::equal(mixed.counts(), clean.counts()));
  const Histogram nothing = observed(std::vector<f32>{kNan});
  EXPECT_EQ(nothing.count(), 0u);
  EXPECT_EQ(nothing.nans(), 1u);
}

TEST(Histogram, CountsPassThirtyTwoBits) {
  Histogram histogram = observed(std::vector<f32>(1 << 16, 1.5f));
  for (int i = 0; i < 17; ++i) histogram.merge(Histogram(histogram));
  EXPECT_EQ(histogram.count(), u64{1} << 33);
  EXPECT_EQ(std::accumulate(histogram.counts().begin(), histogram.counts().end(), u64{0}),
            u64{1} << 33);
}

}  // namespace
}  // namespace octet::test
