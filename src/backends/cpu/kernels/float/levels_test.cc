// SPDX-License-Identifier: Apache-2.0
// Depthwise kernels of f32 of every level that this processor runs against the same sums in plain code, to the bit. As codes/levels_test.cc it
// needs nothing but the kernels, for emulated processors; backends/cpu/lower/f_depthwise_test.cc compares with the operator.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "arch/isa.h"
#include "backends/cpu/kernels/float/depthwise.h"
#include "backends/cpu/kernels/float/taps.h"
#include "core/types.h"

namespace octet {
namespace {

struct DepthwiseLevel {
  Isa isa;
  void (*exact)(const DepthwiseF32Args*);
  void (*taps)(const TapsArgs*);
  void (*rows)(const TapRowsArgs*);
};

const DepthwiseLevel kDepthwiseLevels[] = {
    {Isa::avx2, depthwise_f32_avx2, depthwise_taps_avx2, depthwise_rows_avx2},
    {Isa::vnni, depthwise_f32_vnni, depthwise_taps_vnni, depthwise_rows_vnni},
    {Isa::neon, depthwise_f32_neon, depthwise_taps_neon, depthwise_rows_neon},
};

std::vector<f32> random_reals(s64 count, u32 seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<f32> uniform(-2.0f, 2.0f);
  std::vector<f32> values(static_cast<size_t>(count));
  for (f32& value : values) value = uniform(random);
  return values;
}

// What becomes of a sum: bounds, or a slope below zero.
struct PlainEnd {
  bool clamps;
  f32 min, max, alpha;

  f32 operator()(f32 y) const {
    if (!clamps) return y < 0.0f ? y * alpha : y;
    const f32 least = min > y ? min : y;  // NaN passes
    return max < least ? max : least;
  }
};

const PlainEnd kPlainEnds[] = {
    {true, -0.5f, 1.5f, 1.0f},
    {false, -std::numeric_limits<f32>::infinity(), std::numeric_limits<f32>::infinity(), 0.25f},
    {false, -std::numeric_limits<f32>::infinity(), std::numeric_limits<f32>::infinity(), 1.0f}};

// Two rows of `count` pixels of a 3x3 window over four rows of count + 2.
struct DepthwiseMaps {
  s64 count, channels;
  std::vector<f32> x, weights, bias;

  DepthwiseMaps(s64 pixels, s64 each)
      : count(pixels),
        channels(each),
        x(random_reals(4 * (pixels + 2) * each, 1)),
        weights(random_reals(9 * each, 2)),
        bias(random_reals(each, 3)) {
    x[0] = std::numeric_limits<f32>::quiet_NaN();
    x[x.size() / 2] = std::numeric_limits<f32>::infinity();
  }
  s64 row() const { return (count + 2) * channels; }
  f32 value(s64 y, s64 p, s64 c) const {
    return x[static_cast<size_t>(y * row() + p * channels + c)];
  }
  f32 product(int t, s64 y, s64 p, s64 c) const {
    return value(y + t / 3, p + t % 3, c) * weights[static_cast<size_t>(t * channels + c)];
  }
  // ops/shared/dot.h: sixteen lanes, folded by halves.
  f32 exact(s64 p, s64 c) const {
    f32 lanes[16] = {};
    for (int t = 0; t < 9; ++t) lanes[t] += product(t, 0, p, c);
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    return lanes[0] + bias[static_cast<size_t>(c)];
  }
  // One multiply-add for each tap, in their order.
  f32 chain(s64 y, s64 p, s64 c) const {
    f32 sum = bias[static_cast<size_t>(c)];
    for (int t = 0; t < 9; ++t)
      sum = std::fma(value(y + t / 3, p + t % 3, c), weights[static_cast<size_t>(t * channels + c)],
                     sum);
    return sum;
  }
};

template <class F>
void expect_plain(const std::vector<f32>& got, const DepthwiseMaps& maps, s64 rows, const F& want) {
  for (s64 i = 0; i < rows * maps.count * maps.channels; ++i) {
    const s64 c = i % maps.channels, p = i / maps.channels % maps.count;
    const f32 value = want(i / maps.channels / maps.count, p, c);
    const f32 other = got[static_cast<size_t>(i)];
    const bool same = std::bit_cast<u32>(value) == std::bit_cast<u32>(other);
    ASSERT_TRUE(same || (std::isnan(value) && std::isnan(other)))
        << "pixel " << p << ", channel " << c << " of " << maps.channels << ": " << other
        << " instead of " << value;
  }
}

void check_exact(const DepthwiseLevel& level, const DepthwiseMaps& maps, const PlainEnd& end) {
  std::vector<f32> got(static_cast<size_t>(maps.count * maps.channels));
  DepthwiseF32Args args{};
  for (int t = 0; t < 9; ++t) {
    args.taps[t] = maps.x.data() + t / 3 * maps.row() + t % 3 * maps.channels;
    args.steps[t] = maps.channels;
  }
  args.weights = maps.weights.data();
  args.bias = maps.bias.data();
  args.dst = got.data();
  args.count = maps.count;
  args.channels = maps.channels;
  args.clamps = end.clamps;
  args.min = end.min;
  args.max = end.max;
  args.alpha = end.alpha;
  level.exact(&args);
  expect_plain(got, maps, 1, [&](s64, s64 p, s64 c) { return end(maps.exact(p, c)); });
}

SumEndArgs sum_end_args(const PlainEnd& end) {
  SumEndArgs args{};
  args.clamps = end.clamps;
  args.min = end.min;
  args.max = end.max;
  args.alpha = end.alpha;
  return args;
}

void check_taps(const DepthwiseLevel& level, const DepthwiseMaps& maps, const PlainEnd& end) {
  std::vector<f32> got(static_cast<size_t>(maps.count * maps.channels));
  TapsArgs args{};
  const void* taps[9];
  const f32* weights[9];
  for (int t = 0; t < 9; ++t) {
    taps[t] = maps.x.data() + t / 3 * maps.row() + t % 3 * maps.channels;
    weights[t] = maps.weights.data() + t * maps.channels;
  }
  args.taps = taps;
  args.weights = weights;
  args.tap_count = 9;
  args.step = maps.channels;
  args.bias = maps.bias.data();
  args.dst = got.data();
  args.count = maps.count;
  args.channels = maps.channels;
  args.end = sum_end_args(end);
  level.taps(&args);
  expect_plain(got, maps, 1, [&](s64, s64 p, s64 c) { return end(maps.chain(0, p, c)); });
}

void check_rows(const DepthwiseLevel& level, const DepthwiseMaps& maps, const PlainEnd& end) {
  std::vector<f32> got(static_cast<size_t>(2 * maps.count * maps.channels));
  TapRowsArgs args{};
  args.src = maps.x.data();
  args.src_row = maps.row();
  args.weights = maps.weights.data();
  args.bias = maps.bias.data();
  args.dst = got.data();
  args.dst_row = maps.count * maps.channels;
  args.count = maps.count;
  args.channels = maps.channels;
  args.end = sum_end_args(end);
  level.rows(&args);
  expect_plain(got, maps, 2, [&](s64 y, s64 p, s64 c) { return end(maps.chain(y, p, c)); });
}

TEST(KernelLevels, DepthwiseConvolutionsOfReals) {
  for (const DepthwiseLevel& level : kDepthwiseLevels) {
    if (!hardware_has(level.isa)) continue;
    for (const s64 channels : {1, 7, 8, 9, 16, 33}) {
      for (const s64 count : {1, 4, 5, 13}) {
        const DepthwiseMaps maps(count, channels);
        for (const PlainEnd& end : kPlainEnds) {
          check_exact(level, maps, end);
          check_taps(level, maps, end);
          check_rows(level, maps, end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet
