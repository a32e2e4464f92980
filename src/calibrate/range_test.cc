// SPDX-License-Identifier: Apache-2.0
#include "calibrate/range.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "core/error_testing.h"

namespace octet::test {
namespace {

Histogram observed(const std::vector<f32>& values) {
  Histogram histogram;
  histogram.observe(values);
  return histogram;
}

std::vector<f32> normal_values(size_t count, u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<f32> normal;
  std::vector<f32> values(count);
  for (f32& v : values) v = normal(random);
  return values;
}

// The published procedure, step by step on whole arrays: clip into P, group into Q, spread Q over the occupied bins, compare.
f64 plain_divergence(const std::vector<f64>& bins, size_t n, size_t levels) {
  std::vector<f64> p(bins.begin(), bins.begin() + static_cast<ptrdiff_t>(n));
  p.back() += std::accumulate(bins.begin() + static_cast<ptrdiff_t>(n), bins.end(), 0.0);
  std::vector<f64> level_sum(levels), level_bins(levels), q(n);
  for (size_t i = 0; i < n; ++i) {
    level_sum[i * levels / n] += bins[i];
    level_bins[i * levels / n] += p[i] > 0;
  }
  for (size_t i = 0; i < n; ++i) {
    const size_t level = i * levels / n;
    if (p[i] > 0) q[i] = std::max(level_sum[level], 1e-4) / level_bins[level];
  }
  const f64 p_sum = std::accumulate(p.begin(), p.end(), 0.0);
  const f64 q_sum = std::accumulate(bins.begin(), bins.begin() + static_cast<ptrdiff_t>(n), 0.0);
  f64 sum = 0;
  for (size_t i = 0; i < n; ++i) {
    if (p[i] > 0) sum += p[i] / p_sum * std::log(p[i] / p_sum / (q[i] / q_sum));
  }
  return sum;
}

size_t plain_least(const std::vector<f64>& bins, size_t levels) {
  size_t best = bins.size();
  f64 least = plain_divergence(bins, best, levels);
  for (size_t n = bins.size() - 1; n >= levels; --n) {
    const f64 d = plain_divergence(bins, n, levels);
    if (d < least) {
      least = d;
      best = n;
    }
  }
  return best;
}

TEST(Entropy, EqualsThePlainProcedure) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 12; ++trial) {
    std::vector<f64> bins(600);
    for (size_t i = 0; i < bins.size(); ++i) {
      const f64 falling = 5000 * std::exp(-static_cast<f64>(i) / (20 + 15 * trial));
      // Integers, with the sparse tail that real tensors have.
      bins[i] = std::floor(falling * static_cast<f64>(random() % 1000) / 500);
      if (random() % 40 == 0) bins[i] += 1;
    }
    for (size_t levels : {16u, 128u}) {
      const size_t got = least_divergence(bins, levels);
      const size_t want = plain_least(bins, levels);
      // Equal, or equally good to the last digits of a sum taken in another order.
      EXPECT_TRUE(got == want || std::abs(plain_divergence(bins, got, levels) -
                                          plain_divergence(bins, want, levels)) < 1e-12)
          << got << " against " << want;
    }
  }
}

TEST(Entropy, BinsKeepTheTotalAndLeaveZerosOut) {
  std::vector<f32> values = normal_values(30000, 2);
  values.insert(values.end(), 5000, 0.0f);
  const std::vector<f64> bins = entropy_bins(observed(values));
  ASSERT_EQ(bins.size(), kEntropyBins);
  EXPECT_NEAR(std::accumulate(bins.begin(), bins.end(), 0.0), 30000, 1e-6);
}

TEST(Entropy, BinsOfFullWidthAreTakenOver) {
  // amax of 2 - 2^-11 has fine bins of 2^-11; a bin holds what lies within its bounds, up to the width of one fine bin.
  const std::vector<f32> values = {0.25f, 0.5f, 1.0f, 1.99951171875f};
  const std::vector<f64> bins = entropy_bins(observed(values));
  EXPECT_NEAR(bins[256] + bins[257], 1, 1e-9);
  EXPECT_NEAR(bins[512] + bins[513], 1, 1e-9);
  EXPECT_NEAR(bins[1024] + bins[1025], 1, 1e-9);
  EXPECT_NEAR(bins[2047], 1, 1e-9);
}

TEST(Range, MinmaxIsTheLargestMagnitude) {
  const Range range = estimate_range(observed({-3, 1, 2}), RangeRule::minmax, "x");
  EXPECT_EQ(range.min, -3);
  EXPECT_EQ(range.max, 2);
  EXPECT_EQ(range.threshold, 3);
}

TEST(Range, EntropyCutsAnOutlier) {
  std::vector<f32> values = normal_values(200000, 3);
  values.push_back(100.0f);
  const Range range = estimate_range(observed(values), RangeRule::entropy, "x");
  EXPECT_EQ(range.max, 100.0f);
  EXPECT_LT(range.threshold, 50.0f);
  EXPECT_GT(range.threshold, 3.0f);
}

TEST(Entropy, LeastErrorEqualsASearchOverPlainQuantization) {
  std::vector<f64> bins(1000);
  for (size_t i = 0; i < bins.size(); ++i) {
    bins[i] = std::floor(1e5 * std::exp(-static_cast<f64>(i) / 60)) + (i > 990 ? 1 : 0);
  }
  f64 least = std::numeric_limits<f64>::infinity();
  size_t best = 0;
  for (size_t n = 1000; n >= 128; n -= 4) {
    const f64 scale = static_cast<f64>(n) / 127;
    f64 error = 0;
    for (size_t i = 0; i < bins.size(); ++i) {
      const f64 x = static_cast<f64>(i) + 0.5;
      const f64 y = std::min(std::floor(x / scale + 0.5), 127.0) * scale;
      error += bins[i] * (x - y) * (x - y);
    }
    if (error < least) {
      least = error;
      best = n;
    }
  }
  EXPECT_EQ(least_error(bins, 128), best);
  EXPECT_LT(best, 1000u);
}

TEST(Range, EntropyNeverCutsFurtherThanSquaredErrorWould) {
  // A few values form a far peak: divergence alone would lose it.
  std::vector<f32> values = normal_values(100000, 4);
  for (size_t i = 0; i < 50; ++i) values.push_back(40.0f + static_cast<f32>(i) / 10);
  const Histogram histogram = observed(values);
  const std::vector<f64> bins = entropy_bins(histogram);
  ASSERT_LT(least_divergence(bins, 128), least_error(bins, 128));
  const Range range = estimate_range(histogram, RangeRule::entropy, "x");
  EXPECT_GT(range.threshold, 40.0f);
}

TEST(Range, ZerosOfAReluDoNotMatter) {
  std::vector<f32> values = normal_values(50000, 5);
  for (f32& v : values) v = std::abs(v);
  const Range without = estimate_range(observed(values), RangeRule::entropy, "x");
  values.insert(values.end(), 1000000, 0.0f);
  const Range with = estimate_range(observed(values), RangeRule::entropy, "x");
  EXPECT_EQ(with.threshold, without.threshold);
}

TEST(Range, ThresholdNeverPassesTheLargestValue) {
  for (u32 seed = 0; seed < 20; ++seed) {
    const Histogram histogram = observed(normal_values(50 + seed * 37, seed));
    const Range range = estimate_range(histogram, RangeRule::entropy, "x");
    EXPECT_LE(range.threshold, histogram.amax());
  }
}

TEST(Range, ScalesWithTheValues) {
  std::vector<f32> values = normal_values(20000, 6);
  const f64 threshold = estimate_range(observed(values), RangeRule::entropy, "x").threshold;
  for (f32& v : values) v *= 0x1p-20f;
  EXPECT_EQ(estimate_range(observed(values), RangeRule::entropy, "x").threshold,
            threshold * 0x1p-20f);
}

TEST(Range, ConstantZeroAndTinyTensorsHaveANormalScale) {
  for (RangeRule method : {RangeRule::minmax, RangeRule::entropy}) {
    EXPECT_EQ(estimate_range(observed({0, 0}), method, "x").threshold, 1.0f);
    EXPECT_EQ(estimate_range(observed({7, 7, 7}), method, "x").threshold, 7.0f);
    EXPECT_EQ(estimate_range(observed({-7}), method, "x").threshold, 7.0f);
    const f64 tiny = estimate_range(observed({1e-42f}), method, "x").threshold;
    EXPECT_EQ(std::fpclassify(static_cast<f32>(tiny / 255)), FP_NORMAL);
    EXPECT_EQ(std::fpclassify(static_cast<f32>(tiny / 127)), FP_NORMAL);
  }
}

// Magnitudes 1..100 in equal numbers, some negative.
Histogram hundred() {
  std::vector<f32> values;
  for (int i = 1; i <= 100; ++i) values.push_back(static_cast<f32>(i % 3 == 0 ? -i : i));
  return observed(values);
}

// A quantile by definition: at least the share lies within, and without the last bin less.
TEST(Range, PercentileHoldsItsShare) {
  const Histogram histogram = hundred();
  for (f64 percent : {50.0, 75.0, 90.0, 99.0, 99.5}) {
    const f64 threshold =
        estimate_range(histogram, {RangeRule::percentile, percent}, "x").threshold;
    const f64 wanted = std::ceil(percent);  // the magnitude that completes the share
    EXPECT_GE(threshold, wanted);
    EXPECT_LE(threshold, wanted + histogram.bin_width());
  }
  EXPECT_EQ(estimate_range(histogram, {RangeRule::percentile, 100}, "x").threshold, 100.0);
}

TEST(Range, LegacyTakesTheQuantileOfWhatIsNotBeyondTheCutoff) {
  const Histogram histogram = hundred();
  const f64 half = estimate_range(histogram, {RangeRule::legacy, 1, 0.5}, "x").threshold;
  EXPECT_GE(half, 50);
  EXPECT_LE(half, 50 + histogram.bin_width());
  const f64 quarter = estimate_range(histogram, {RangeRule::legacy, 0.5, 0.5}, "x").threshold;
  EXPECT_GE(quarter, 25);
  EXPECT_LE(quarter, 25 + histogram.bin_width());
  EXPECT_EQ(estimate_range(histogram, {RangeRule::legacy, 1, 1}, "x").threshold, 100.0);
}

// Scales that TensorRT wrote into published caches, decoded: (m + 0.5) / 2048 of the largest magnitude, over 127.
TEST(Range, TensorrtKeepsEverythingWhereNothingIsRare) {
  std::vector<f32> values(2048 * 8);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<f32>(i) + 0.5f) / static_cast<f32>(values.size());
  values.back() = 1.0f;
  values.front() = -0.001f;
  const Range range = estimate_range(observed(values), RangeRule::tensorrt, "x");
  EXPECT_EQ(range.threshold, 2048.5 / 2048);
  EXPECT_EQ(std::bit_cast<u32>(static_cast<f32>(range.threshold / 127)), 0x3c010a14u);
}

// As published: values are spread over the bins that hold some, so that clipped ones in an empty last bin cost without bound.
f64 published_divergence(const std::vector<f64>& bins, size_t n, size_t levels) {
  const f64 clipped = std::accumulate(bins.begin() + static_cast<ptrdiff_t>(n), bins.end(), 0.0);
  std::vector<f64> level_sum(levels), level_bins(levels);
  for (size_t i = 0; i < n; ++i) {
    level_sum[i * levels / n] += bins[i];
    level_bins[i * levels / n] += bins[i] > 0;
  }
  const f64 kept = std::accumulate(bins.begin(), bins.begin() + static_cast<ptrdiff_t>(n), 0.0);
  f64 sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const f64 p = (bins[i] + (i + 1 == n ? clipped : 0)) / (kept + clipped);
    const f64 q = bins[i] > 0 ? level_sum[i * levels / n] / level_bins[i * levels / n] / kept : 0;
    if (p > 0) sum += q > 0 ? p * std::log(p / q) : std::numeric_limits<f64>::infinity();
  }
  return sum;
}

TEST(Entropy, EqualsThePublishedProcedureWhereItIsAskedFor) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 10; ++trial) {
    std::vector<f64> bins(700);
    for (size_t i = 0; i < bins.size(); ++i) {
      const f64 falling = 3000 * std::exp(-static_cast<f64>(i) / (15 + 10 * trial));
      bins[i] = std::floor(falling * static_cast<f64>(random() % 1000) / 500);
      if (random() % 60 == 0) bins[i] += 1;
    }
    size_t want = bins.size();
    for (size_t n = bins.size() - 1; n >= 128; --n) {
      if (published_divergence(bins, n, 128) < published_divergence(bins, want, 128)) want = n;
    }
    const size_t got = least_divergence(bins, 128, EmptyBin::forbid);
    // Equal, or equally good to the last digits of a sum taken in another order.
    EXPECT_TRUE(got == want || std::abs(published_divergence(bins, got, 128) -
                                        published_divergence(bins, want, 128)) < 1e-12)
        << got << " against " << want;
  }
}

TEST(Range, BadTensorsAreNamed) {
  const Histogram nan = observed({1, std::numeric_limits<f32>::quiet_NaN()});
  expect_error([&] { estimate_range(nan, RangeRule::minmax, "conv1_out"); },
               Error::Code::invalid_argument, {"conv1_out", "1 NaN"});
  const Histogram inf = observed({1, std::numeric_limits<f32>::infinity()});
  expect_error([&] { estimate_range(inf, RangeRule::entropy, "conv1_out"); },
               Error::Code::invalid_argument, {"conv1_out", "1 Inf"});
  expect_error([] { estimate_range(Histogram(), RangeRule::entropy, "conv1_out"); },
               Error::Code::invalid_argument, {"conv1_out", "no values"});
}

}  // namespace
}  // namespace octet::test
