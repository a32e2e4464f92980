// SPDX-License-Identifier: Apache-2.0
// Depthwise QConv, each strip and tile that a window allows, on the device against the scalar reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"

namespace octet {
namespace {

using Ints = std::vector<s64>;

size_t strip_of_test = 0, strips_of_test = 1;
std::set<std::string> kernels_of_test;

using Lower = Offer(const LowerRequest&);
Lower* family_of_test = cuda::lower_depthwise;

// The strip or tile of that number alone.
Offer lower_strip(const LowerRequest& request) {
  Target target = request.target;
  target.keep_others = true;
  Offer offer = family_of_test(
      {request.graph, request.node, request.inputs, request.outputs, request.layouts, target});
  auto* all = std::get_if<Candidates>(&offer);
  if (all == nullptr) return offer;
  strips_of_test = all->size();
  kernels_of_test.insert(all->at(strip_of_test).kernel);
  return all->at(strip_of_test);
}

struct Case {
  Shape x;
  s64 kernel_h = 3, kernel_w = 3;
  Ints strides{1, 1}, pads{1, 1, 1, 1}, dilations{1, 1};
  s64 multiplier = 1;  // channels of y for each of x
  bool x_s8 = false;

  std::string text() const {
    return fmt::format("{}x{}x{}x{}{}, kernel {}x{}, strides {}, pads {}, dilations {}, times {}",
                       x[0], x[1], x[2], x[3], x_s8 ? " s8" : "", kernel_h, kernel_w,
                       fmt::join(strides, ","), fmt::join(pads, ","), fmt::join(dilations, ","),
                       multiplier);
  }
};

Probe probe_of(const Case& c) {
  const s64 channels = c.x[1] * c.multiplier;
  const Tensor x = c.x_s8 ? random_s8(c.x, 1) : random_u8(c.x, 1);
  Probe probe{.op = "QConv", .inputs = {activation(x, Layout::nhwc)}};
  probe.inputs.push_back(constant(random_s8({channels, 1, c.kernel_h, c.kernel_w}, 2)));
  probe.inputs.push_back(constant(random_s32({channels}, 3, 3000)));
  probe.inputs.push_back(constant(random_multipliers(channels, 4, 1e-2f)));
  probe.attrs.set("group", c.x[1]);
  probe.attrs.set("strides", c.strides);
  probe.attrs.set("pads", c.pads);
  probe.attrs.set("dilations", c.dilations);
  probe.attrs.set("input_zero_points", Ints{c.x_s8 ? -7 : 131, 0});
  probe.attrs.set("output_zero_point", s64{100});
  return probe;
}

void expect_every_strip_exact(Probe probe, const std::string& what, const Ints& spreads) {
  for (Lower* family : {cuda::lower_depthwise, cuda::lower_depthwise_tile}) {
    family_of_test = family;
    probe.spread = 0;
    if (!run_on_gpu(probe, family).reject.empty()) continue;  // the windows that only strips take
    for (const s64 spread : spreads) {
      probe.spread = spread;
      strip_of_test = 0;
      do {
        expect_exact_on_gpu(probe, lower_strip, fmt::format("{}, strip {}", what, strip_of_test));
      } while (++strip_of_test < strips_of_test && !testing::Test::HasFailure());
    }
  }
}

void expect_exact(const Case& c, const Ints& spreads = {0}) {
  expect_every_strip_exact(probe_of(c), c.text(), spreads);
}

TEST(GpuDepthwise, Dilations) {
  NEEDS_GPU();
  kernels_of_test.clear();
  expect_exact({.x = {1, 8, 9, 11}, .pads = {2, 2, 2, 2}, .dilations = {2, 2}}, {0, 3});
  expect_exact({.x = {3, 7, 9, 11}, .pads = {3, 1, 2, 4}, .dilations = {3, 3}, .x_s8 = true});
  expect_exact({.x = {2, 6, 9, 11}, .pads = {6, 6, 6, 6}, .dilations = {6, 6}});
  // No two taps meet the image at once.
  expect_exact({.x = {2, 12, 9, 11}, .pads = {12, 12, 12, 12}, .dilations = {12, 12}});
  constexpr s64 kFar = 1 << 20;
  expect_exact({.x = {1, 4, 9, 11}, .pads = {kFar, kFar, kFar, kFar}, .dilations = {kFar, kFar}});
  expect_exact({.x = {1, 4, 9, 12}, .pads = {1, 0, 1, 3}, .dilations = {1, 2}, .x_s8 = true});
  expect_exact({.x = {1, 4, 12, 9}, .pads = {0, 1, 3, 1}, .dilations = {3, 1}});
  expect_exact({.x = {1, 12, 13, 13},
                .kernel_h = 5,
                .kernel_w = 5,
                .pads = {4, 4, 4, 4},
                .dilations = {2, 2}});
  EXPECT_TRUE(kernels_of_test.contains("depthwise_4x2"));
  EXPECT_TRUE(std::ranges::any_of(kernels_of_test, [](const std::string& kernel) {
    return kernel.starts_with("depthwise_tile_");
  }));
}

// Outputs that share pixels lie dilation / divisor apart.
TEST(GpuDepthwise, StridesAndDilations) {
  NEEDS_GPU();
  for (const s64 dilation : {2, 3, 4, 6}) {
    const Ints pads{dilation, 0, dilation - 1, dilation + 1};
    expect_exact({.x = {1, 8, 14, 15},
                  .strides = {2, 2},
                  .pads = pads,
                  .dilations = {dilation, dilation},
                  .x_s8 = dilation == 3});
  }
  expect_exact({.x = {1, 5, 14, 15}, .strides = {3, 4}, .dilations = {2, 2}});
  expect_exact({.x = {1, 4, 23, 30}, .strides = {6, 9}, .dilations = {1, 3}});
}

TEST(GpuDepthwise, LargeWindows) {
  NEEDS_GPU();
  kernels_of_test.clear();
  expect_exact({.x = {2, 8, 10, 12}, .kernel_h = 13, .kernel_w = 13, .pads = {6, 6, 6, 6}}, {0, 3});
  expect_exact({.x = {1, 6, 9, 11},
                .kernel_h = 9,
                .kernel_w = 3,
                .strides = {2, 1},
                .pads = {8, 3, 7, 1},
                .dilations = {2, 2},
                .x_s8 = true});
  expect_exact(
      {.x = {1, 3, 16, 24}, .kernel_h = 8, .kernel_w = 8, .strides = {8, 8}, .pads = {0, 0, 0, 0}});
  EXPECT_TRUE(kernels_of_test.contains("depthwise_4x2"));
}

// Sequences are images of one row.
TEST(GpuDepthwise, Rows) {
  NEEDS_GPU();
  kernels_of_test.clear();
  expect_exact({.x = {3, 12, 1, 40}, .kernel_h = 1, .kernel_w = 31, .pads = {0, 15, 0, 15}});
  expect_exact({.x = {1, 7, 1, 33},
                .kernel_h = 1,
                .kernel_w = 3,
                .pads = {0, 8, 0, 0},
                .dilations = {1, 4},
                .x_s8 = true});
  EXPECT_TRUE(kernels_of_test.contains("depthwise_1x4"));
}

TEST(GpuDepthwise, SeveralChannelsOfOne) {
  NEEDS_GPU();
  for (const s64 multiplier : {2, 3, 4, 8}) {
    expect_exact({.x = {2, 5, 7, 9}, .multiplier = multiplier, .x_s8 = multiplier == 3}, {0, 3});
  }
  expect_exact(
      {.x = {1, 6, 1, 21}, .kernel_h = 1, .kernel_w = 9, .pads = {0, 8, 0, 0}, .multiplier = 2});
}

TEST(GpuDepthwise, Endings) {
  NEEDS_GPU();
  for (const s64 kernel : {3, 9}) {
    for (const s64 channels : {7, 12}) {
      const Shape shape{2, channels, 9, 11};
      const s64 pad = kernel - 1;
      const Ints spreads{channels == 7 ? 3 : 0};
      Probe probe = probe_of({.x = shape,
                              .kernel_h = kernel,
                              .kernel_w = kernel,
                              .pads = {pad, pad, pad, pad},
                              .dilations = {2, 2}});
      probe.attrs.set("residual_multiplier", 0.25f);
      probe.inputs.push_back(activation(random_s8(shape, 5), Layout::nhwc));
      probe.inputs.push_back(constant(random_u8({256}, 6)));
      expect_every_strip_exact(probe, "residual and table", spreads);
      for (const test::Lines lines : test::kEveryLines)
        expect_every_strip_exact(with_lines(probe, lines), "residual and lines", spreads);
      Probe real = probe;
      real.inputs.pop_back();
      real.attrs.set("output_dtype", std::string("f32"));
      real.attrs.set("output_zero_point", s64{0});
      expect_every_strip_exact(real, "reals", spreads);
      Probe sum = probe;
      sum.inputs[4] = omitted(), sum.inputs[5] = omitted();
      sum.inputs.push_back(activation(random_u8(shape, 7), Layout::nhwc));
      sum.attrs.set("input_zero_points", Ints{131, 0, 0, 0, 0, 0, 99});
      sum.attrs.set("sum_multipliers", std::vector<f32>{0.7f, 0.4f});
      sum.attrs.set("sum_own_zero_point", s64{100});
      expect_every_strip_exact(sum, "addend", spreads);
    }
  }
}

TEST(GpuDepthwise, OthersAreRejected) {
  NEEDS_GPU();
  const auto reason = [](s64 channels, s64 groups, s64 outputs) {
    Probe probe = probe_of({.x = {1, channels, 7, 7}});
    probe.attrs.set("group", groups);
    probe.inputs[1] = constant(random_s8({outputs, channels / groups, 3, 3}, 2));
    probe.inputs[2] = constant(random_s32({outputs}, 3, 3000));
    probe.inputs[3] = constant(random_multipliers(outputs, 4, 1e-2f));
    return run_on_gpu(probe, cuda::lower_depthwise).reject;
  };
  EXPECT_EQ(reason(8, 4, 8), "a channel of the result reads several");
  EXPECT_EQ(reason(1, 1, 8), "one channel alone is read by all");
  EXPECT_EQ(reason(1, 1, 1), "");
}

}  // namespace
}  // namespace octet
