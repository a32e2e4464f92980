// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and LpPool against their definitions, over random geometries.
#include "ops/shared/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::OpCall;
using testing::Random;
using testing::tensor;
using testing::values_of;

struct Case {
  std::vector<s64> kernel, strides, pads, dilations;
  bool ceil, include_pad;
};

Case random_case(Random& random) {
  Case c;
  c.kernel = {random.integer(1, 3), random.integer(1, 3)};
  c.strides = {random.integer(1, 3), random.integer(1, 3)};
  c.dilations = {random.integer(1, 2), random.integer(1, 2)};
  for (int i = 0; i < 4; ++i)
    c.pads.push_back(random.integer(0, c.kernel[static_cast<size_t>(i % 2)] - 1));
  c.ceil = random.coin();
  c.include_pad = random.coin();
  return c;
}

OpCall call_of(const char* op, const Tensor& x, const Case& c) {
  OpCall call(op);
  call.in(x).ints("kernel_shape", c.kernel).ints("strides", c.strides).ints("pads", c.pads);
  return call.ints("dilations", c.dilations).attr("ceil_mode", s64{c.ceil});
}

// Input positions of the window at (oh, ow): all taps within the padded input; `inside` marks those in the input.
struct Tap {
  s64 at;
  bool inside;
};
std::vector<Tap> taps(const Case& c, s64 height, s64 width, s64 oh, s64 ow) {
  std::vector<Tap> list;
  for (s64 i = 0; i < c.kernel[0]; ++i) {
    for (s64 j = 0; j < c.kernel[1]; ++j) {
      const s64 h = oh * c.strides[0] - c.pads[0] + i * c.dilations[0];
      const s64 w = ow * c.strides[1] - c.pads[1] + j * c.dilations[1];
      if (h >= height + c.pads[2] || w >= width + c.pads[3]) continue;
      list.push_back({h * width + w, h >= 0 && w >= 0 && h < height && w < width});
    }
  }
  return list;
}

TEST(Pools, RandomGeometries) {
  for (u32 seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Case c = random_case(random);
    const s64 height = random.integer(5, 8), width = random.integer(5, 8);
    const Tensor x = random.reals(Shape{2, 2, height, width}, -1.0f, 1.0f);
    const auto max = call_of("MaxPool", x, c).outputs(2).run_all();
    const Tensor mean =
        call_of("AveragePool", x, c).attr("count_include_pad", s64{c.include_pad}).run();
    const Tensor norm = call_of("LpPool", x, c).attr("p", s64{2}).run();
    const s64 oh = mean.shape()[2], ow = mean.shape()[3];
    for (s64 i = 0; i < mean.elements(); ++i) {
      const s64 plane = i / (oh * ow) * height * width;
      f32 best = -std::numeric_limits<f32>::infinity();
      s64 best_at = plane, inside = 0;
      f64 sum = 0, squares = 0;
      const auto window = taps(c, height, width, i / ow % oh, i % ow);
      for (const Tap& tap : window) {
        if (!tap.inside) continue;
        const f32 value = x.as<f32>()[static_cast<size_t>(plane + tap.at)];
        if (value > best) best_at = plane + tap.at;
        best = std::max(best, value);
        sum += value;
        squares += f64{value} * value;
        ++inside;
      }
      const size_t at = static_cast<size_t>(i);
      ASSERT_EQ(max[0].as<f32>()[at], best);
      ASSERT_EQ(max[1].as<s64>()[at], best_at);
      const f64 n = static_cast<f64>(c.include_pad ? std::ssize(window) : inside);
      // f32 sums of at most 9 values below 1.
      ASSERT_NEAR(mean.as<f32>()[at], n == 0 ? 0.0 : sum / n, 12 * 9 * 6e-8);
      ASSERT_NEAR(norm.as<f32>()[at], std::sqrt(squares), 12 * 9 * 6e-8);
    }
  }
}

TEST(MaxPool, MovesCodes) {
  Random random(1);
  for (Dtype dtype : {Dtype::u8, Dtype::s8}) {
    const Tensor x = random.codes(dtype, Shape{1, 3, 6, 6});
    const Tensor y = OpCall("MaxPool").in(x).ints("kernel_shape", {6, 6}).run();
    for (s64 c = 0; c < 3; ++c) {
      s64 best = -1000;
      for (s64 i = 0; i < 36; ++i) best = std::max(best, testing::code(x, c * 36 + i));
      EXPECT_EQ(testing::code(y, c), best);
    }
  }
  EXPECT_EQ(find_op("MaxPool")->quant.kind, QuantKind::move_codes);
}

TEST(MaxPool, ColumnMajorIndices) {
  const Tensor x = tensor<f32>(Shape{1, 1, 2, 3}, {0, 0, 9, 0, 0, 0});
  OpCall call("MaxPool");
  call.in(x).ints("kernel_shape", {2, 3}).outputs(2);
  EXPECT_EQ(values_of<s64>(call.run_all()[1]), (std::vector<s64>{2}));
  EXPECT_EQ(values_of<s64>(call.attr("storage_order", s64{1}).run_all()[1]), (std::vector<s64>{4}));
}

TEST(MaxPool, OneAndThreeDimensions) {
  const Tensor line = tensor<f32>(Shape{1, 1, 5}, {1, 5, 2, 4, 3});
  EXPECT_EQ(values_of<f32>(OpCall("MaxPool").in(line).ints("kernel_shape", {2}).run()),
            (std::vector<f32>{5, 5, 4, 4}));
  const Tensor cube = tensor<f32>(Shape{1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(values_of<f32>(OpCall("AveragePool").in(cube).ints("kernel_shape", {2, 1, 2}).run()),
            (std::vector<f32>{3.5f, 5.5f}));
}

TEST(Pools, AutoPad) {
  const Tensor x = tensor<f32>(Shape{1, 1, 4}, {1, 2, 3, 4});
  const auto run = [&](const char* mode) {
    return values_of<f32>(OpCall("AveragePool")
                              .in(x)
                              .ints("kernel_shape", {2})
                              .attr("auto_pad", std::string(mode))
                              .run());
  };
  EXPECT_EQ(run("SAME_UPPER"), (std::vector<f32>{1.5f, 2.5f, 3.5f, 4}));
  EXPECT_EQ(run("SAME_LOWER"), (std::vector<f32>{1, 1.5f, 2.5f, 3.5f}));
  EXPECT_EQ(run("VALID"), (std::vector<f32>{1.5f, 2.5f, 3.5f}));
}

TEST(MaxPool, NanWins) {
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  const Tensor x = tensor<f32>(Shape{1, 1, 6}, {1, nan, 2, nan, 5, 4});
  const std::vector<Tensor> y =
      OpCall("MaxPool").in(x).ints("kernel_shape", {3}).ints("strides", {1}).outputs(2).run_all();
  const auto values = values_of<f32>(y[0]);
  for (const f32 value : values) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(values_of<s64>(y[1]), (std::vector<s64>{1, 1, 3, 3}));
}

}  // namespace
}  // namespace octet
