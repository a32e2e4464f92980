// SPDX-License-Identifier: Apache-2.0
// Interpolate and QInterpolate against the scalar reference, to the bit, between guard pages.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

Tensor sizes_of(const std::vector<s64>& sizes) {
  return Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes);
}

Probe reals(const Tensor& x, Layout layout, const std::vector<s64>& sizes) {
  Probe probe{.op = "Interpolate"};
  probe.inputs = {activation(x, layout), omitted(), omitted(), constant(sizes_of(sizes))};
  probe.attrs.set("mode", std::string("linear"));
  return probe;
}

Probe codes(const Shape& shape, const std::vector<s64>& sizes) {
  Probe probe = reals(random_u8(shape, 3), Layout::nhwc, sizes);
  probe.op = "QInterpolate";
  probe.attrs.set("multiplier", 0.9f);
  probe.attrs.set("input_zero_points", std::vector<s64>{114});
  probe.attrs.set("output_zero_point", s64{100});
  return probe;
}

const char* const kCoordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                    "align_corners", "asymmetric"};

TEST(Interpolate, EveryCoordinateTransformation) {
  for (const char* coordinates : kCoordinates) {
    for (const char* mode : {"linear", "cubic"}) {
      for (const std::vector<s64>& sizes :
           {std::vector<s64>{2, 5, 14, 18}, {2, 5, 3, 5}, {2, 5, 1, 1}, {2, 5, 7, 20}}) {
        for (Layout layout : {Layout::linear, Layout::nhwc}) {
          Probe probe = reals(random_f32({2, 5, 7, 9}, 1), layout, sizes);
          probe.attrs.set("mode", std::string(mode));
          probe.attrs.set("coordinate_transformation_mode", std::string(coordinates));
          expect_exact_above_none(probe, lower_f_interpolate, coordinates);
        }
        Probe probe = codes({2, 5, 7, 9}, sizes);
        probe.attrs.set("mode", std::string(mode));
        probe.attrs.set("coordinate_transformation_mode", std::string(coordinates));
        expect_exact_above_none(probe, lower_q_interpolate, coordinates);
      }
    }
  }
}

TEST(Interpolate, NothingIsResized) {
  for (s64 n : {1, 5, 40}) {
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      Probe probe = reals(random_f32({2, n, 7, 9}, 1), layout, {2, n, 7, 9});
      probe.inputs[0].tensor.mutable_as<f32>()[0] = -0.0f;
      expect_exact_above_none(probe, lower_f_interpolate, "reals");
    }
    expect_exact_above_none(codes({2, n, 7, 9}, {2, n, 7, 9}), lower_q_interpolate, "codes");
  }
  expect_exact_above_none(reals(random_f32({9}, 1), Layout::linear, {9}), lower_f_interpolate,
                          "one axis");
}

TEST(Interpolate, TablesOfAPlanHaveALimit) {
  Probe probe = reals(random_f32({1, 1, 2}, 1), Layout::linear, {1, 1, (1 << 22) + 1});
  probe.isa = first_simd_level();
  EXPECT_EQ(run_probe(probe, lower_f_interpolate).reject, "an axis is longer than a plan's tables");
}

TEST(Interpolate, ChannelsAndWidthsAroundARegister) {
  for (s64 n : {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65}) {
    expect_exact_above_none(codes({1, n, 4, 5}, {1, n, 8, 10}), lower_q_interpolate,
                            fmt::format("{} channels", n));
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      expect_exact_above_none(reals(random_f32({1, n, 4, 5}, 1), layout, {1, n, 8, 10}),
                              lower_f_interpolate, fmt::format("{} channels", n));
      expect_exact_above_none(reals(random_f32({1, 2, 3, n}, 1), layout, {1, 2, 5, 2 * n}),
                              lower_f_interpolate, fmt::format("width {}", n));
    }
  }
}

TEST(Interpolate, LinesVolumesAndRowsOfPixels) {
  expect_exact_above_none(reals(random_f32({2, 3, 9}, 1), Layout::linear, {2, 3, 20}),
                          lower_f_interpolate, "a line");
  expect_exact_above_none(reals(random_f32({2, 5, 6, 7}, 1), Layout::linear, {2, 10, 12, 7}),
                          lower_f_interpolate, "channels last in the model");
  expect_exact_above_none(reals(random_f32({1, 2, 3, 5, 6}, 1), Layout::linear, {1, 2, 3, 10, 9}),
                          lower_f_interpolate, "planes of a volume");
}

TEST(Interpolate, ManyTapsAndScales) {
  Probe probe = codes({1, 33, 40, 40}, {1, 33, 7, 6});
  probe.attrs.set("antialias", s64{1});
  expect_exact_above_none(probe, lower_q_interpolate, "antialiased");
  probe = reals(random_f32({1, 3, 10, 10}, 1), Layout::linear, {});
  probe.inputs[2] = constant(Tensor::of<f32>(Shape{4}, std::vector<f32>{1, 1, 2.5f, 0.75f}));
  probe.inputs[3] = omitted();
  expect_exact_above_none(probe, lower_f_interpolate, "scales");
}

TEST(Interpolate, CodesSaturate) {
  for (f32 multiplier : {0.0f, 1.0f, 37.0f, 1e30f}) {
    Probe probe = codes({1, 40, 6, 6}, {1, 40, 11, 13});
    probe.attrs.set("multiplier", multiplier);
    probe.attrs.set("mode", std::string("cubic"));
    expect_exact_above_none(probe, lower_q_interpolate, fmt::format("{}", multiplier));
  }
}

// What a plan leaves to the reference says why.
TEST(Interpolate, ReasonsForTheReference) {
  Probe probe = reals(random_f32({1, 4, 5, 5}, 1), Layout::linear, {1, 8, 10, 10});
  probe.isa = first_simd_level();
  EXPECT_EQ(run_probe(probe, lower_f_interpolate).reject,
            "more than two neighbouring axes are resized");
  probe.isa = Isa::none;
  EXPECT_EQ(run_probe(probe, lower_f_interpolate).reject, "the instruction set has no vectors");
}

}  // namespace
}  // namespace octet
