// SPDX-License-Identifier: Apache-2.0
// GridSample against the scalar reference, to the bit: positions inside, on and beyond the borders, far away, and no numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

// Positions from -1.5 to 1.5, and some that are special.
Tensor positions(const Shape& shape, u64 seed) {
  Tensor grid = random_f32(shape, seed, 0.7f);
  const auto values = grid.mutable_as<f32>();
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  const f32 special[] = {-1.0f, 1.0f,       0.0f,      -0.0f,
                         1e9f,  -1e30f,     kInfinity, -kInfinity,
                         2.0f,  0.9999999f, -2.5f,     std::numeric_limits<f32>::quiet_NaN()};
  for (size_t i = 0; i < values.size(); i += 7) values[i] = special[i / 7 % std::size(special)];
  return grid;
}

// `points`: the axes of positions, their number last.
Probe sampled(const Shape& x, const Shape& points, Layout layout = Layout::linear) {
  Probe probe{.op = "GridSample"};
  Tensor image = random_f32(x, 1);
  image.mutable_as<f32>()[0] = -0.0f;
  probe.inputs = {activation(image, layout), activation(positions(points, 2))};
  return probe;
}

const char* const kModes[] = {"nearest", "linear", "cubic"};
const char* const kPaddings[] = {"zeros", "border", "reflection"};

void expect_all_ways(Probe probe, const std::string& what) {
  for (const char* mode : kModes) {
    for (const char* padding : kPaddings) {
      for (s64 corners : {0, 1}) {
        probe.attrs.set("mode", std::string(mode));
        probe.attrs.set("padding_mode", std::string(padding));
        probe.attrs.set("align_corners", corners);
        expect_exact_above_none(probe, lower_f_grid_sample,
                                fmt::format("{} {} {} {}", what, mode, padding, corners));
      }
    }
  }
}

TEST(GridSample, ModesPaddingsAndLayouts) {
  for (Layout layout : {Layout::linear, Layout::nhwc})
    expect_all_ways(sampled({2, 5, 7, 9}, {2, 6, 15, 2}, layout), "image");
  expect_all_ways(sampled({1, 3, 1, 1}, {1, 3, 3, 2}), "one pixel");
}

TEST(GridSample, LinesAndVolumes) {
  expect_all_ways(sampled({2, 3, 11}, {2, 70, 1}), "line");
  expect_all_ways(sampled({2, 3, 4, 5, 6}, {2, 3, 4, 7, 3}), "volume");
}

TEST(GridSample, PositionsAndChannelsAroundARegister) {
  for (s64 n : {1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 129}) {
    expect_exact_above_none(sampled({1, 2, 5, 6}, {1, 1, n, 2}), lower_f_grid_sample,
                            fmt::format("{} positions", n));
    for (Layout layout : {Layout::linear, Layout::nhwc})
      expect_exact_above_none(sampled({2, n, 5, 6}, {2, 4, 5, 2}, layout), lower_f_grid_sample,
                              fmt::format("{} channels", n));
  }
  expect_exact_above_none(sampled({8, 32, 20, 20}, {8, 30, 4, 2}), lower_f_grid_sample,
                          "several threads");
}

TEST(GridSample, RejectsWithReasons) {
  Probe probe = sampled({1, 1, 3, 3, 3, 3}, {1, 2, 2, 2, 2, 4});
  probe.isa = first_simd_level();
  EXPECT_EQ(run_guarded(probe, lower_f_grid_sample, {}).reject,
            "the input has more than three axes of positions");
  Probe empty = sampled({1, 3, 5, 6}, {1, 0, 4, 2});
  empty.isa = first_simd_level();
  EXPECT_EQ(run_guarded(empty, lower_f_grid_sample, {}).reject, "the input is empty");
}

}  // namespace
}  // namespace octet
