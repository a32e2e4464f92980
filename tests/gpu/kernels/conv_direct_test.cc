// SPDX-License-Identifier: Apache-2.0
// QConv by a thread for each output, on the device against the scalar reference.
#include <gtest/gtest.h>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"

namespace octet {
namespace {

using Ints = std::vector<s64>;

Tensor wide_weights(const Shape& shape) {
  const Tensor s32_values = random_s32(shape, 2, 255);
  Tensor weights(Dtype::s16, shape);
  for (size_t i = 0; i < weights.mutable_as<s16>().size(); ++i)
    weights.mutable_as<s16>()[i] = static_cast<s16>(s32_values.as<s32>()[i]);
  return weights;
}

Probe conv_probe(const Tensor& x, const Tensor& weights, s64 groups) {
  const s64 channels = weights.shape()[0];
  const Layout layout = x.shape().rank() == 4 ? Layout::nhwc : Layout::linear;
  Probe probe{.op = "QConv", .inputs = {activation(x, layout), constant(weights)}};
  probe.inputs.push_back(constant(random_s32({channels}, 3, 3000)));
  probe.inputs.push_back(constant(random_multipliers(channels, 4, 1e-3f)));
  probe.attrs.set("group", groups);
  probe.attrs.set("input_zero_points", Ints{x.dtype() == Dtype::s8 ? -7 : 131, 0});
  probe.attrs.set("output_zero_point", s64{100});
  probe.attrs.set("residual_multiplier", 0.25f);
  return probe;
}

void set_window(Probe& probe, const Ints& strides, const Ints& pads, const Ints& dilations) {
  probe.attrs.set("strides", strides);
  probe.attrs.set("pads", pads);
  probe.attrs.set("dilations", dilations);
}

void expect_exact_everywhere(Probe probe, const std::string& what) {
  for (s64 spread : {0, 3, 4}) {
    probe.spread = spread;
    expect_exact_on_gpu(probe, cuda::lower_conv_direct, what);
  }
}

TEST(GpuConvDirect, DepthwiseOfWideWeights) {
  NEEDS_GPU();
  for (s64 channels : {1, 7, 12, 36}) {
    for (bool is_signed : {false, true}) {
      const Shape shape{2, channels, 9, 11};
      const Tensor x = is_signed ? random_s8(shape, 1) : random_u8(shape, 1);
      Probe probe = conv_probe(x, wide_weights({channels, 1, 3, 3}), channels);
      set_window(probe, {2, 1}, {1, 1, 1, 1}, {1, 2});
      expect_exact_everywhere(probe, fmt::format("{} channels", channels));
    }
  }
}

TEST(GpuConvDirect, OtherRanksAndGroups) {
  NEEDS_GPU();
  Probe signal = conv_probe(random_u8({2, 6, 30}, 1), random_s8({9, 2, 5}, 2), 3);
  set_window(signal, {2}, {1, 3}, {2});
  expect_exact_on_gpu(signal, cuda::lower_conv_direct, "signal");
  Probe volume = conv_probe(random_s8({2, 6, 5, 8, 7}, 1), random_s8({4, 6, 2, 3, 1}, 2), 1);
  set_window(volume, {1, 2, 1}, {1, 0, 0, 0, 1, 0}, {1, 1, 1});
  expect_exact_on_gpu(volume, cuda::lower_conv_direct, "volume");
  Probe image = conv_probe(random_u8({2, 6, 8, 7}, 1), random_s8({4, 3, 2, 3}, 2), 2);
  expect_exact_everywhere(image, "groups of an image");
}

TEST(GpuConvDirect, Endings) {
  NEEDS_GPU();
  for (s64 channels : {7, 12}) {
    const Shape shape{2, channels, 9, 11};
    Probe probe = conv_probe(random_u8(shape, 1), wide_weights({channels, 1, 3, 3}), channels);
    set_window(probe, {1, 1}, {1, 1, 1, 1}, {1, 1});
    probe.inputs.push_back(activation(random_s8(shape, 5), Layout::nhwc));
    expect_exact_everywhere(probe, "residual");
    probe.inputs.push_back(constant(random_u8({256}, 6)));
    expect_exact_everywhere(probe, "table");
    for (const test::Lines lines : test::kEveryLines)
      expect_exact_everywhere(with_lines(probe, lines), "lines");
    Probe real = probe;
    real.inputs.pop_back();
    real.attrs.set("output_dtype", std::string("f32"));
    real.attrs.set("output_zero_point", s64{0});
    expect_exact_everywhere(real, "reals");
    for (bool row : {false, true}) {
      Probe sum = probe;
      sum.inputs[4] = omitted(), sum.inputs[5] = omitted();
      sum.inputs.push_back(row ? constant(random_u8({channels}, 7))
                               : activation(random_u8(shape, 7), Layout::nhwc));
      sum.attrs.set("input_zero_points", Ints{131, 0, 0, 0, 0, 0, 99});
      sum.attrs.set("sum_multipliers", std::vector<f32>{0.7f, 0.4f});
      sum.attrs.set("sum_own_zero_point", s64{100});
      expect_exact_everywhere(sum, row ? "row" : "addend");
    }
  }
}

}  // namespace
}  // namespace octet
