// SPDX-License-Identifier: Apache-2.0
// Depthwise QConv kernels against the scalar reference, with every way in which a register meets pixels.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/kernels/codes/depthwise/flat_depthwise.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_conv_case.h"
#include "ops/quantized/epilogue.h"

namespace octet {
namespace {

Offer depthwise_as_planned(const LowerRequest& request) {
  Offer flat = lower_q_depthwise_flat(request);
  return std::holds_alternative<Candidate>(flat) ? flat : lower_q_depthwise(request);
}

Probe depthwise_probe(ConvCase c) {
  c.groups = c.outputs = c.channels;
  return probe_of(c);
}

TEST(QDepthwise, ChannelsAtTheEdgesOfEveryBlock) {
  for (s64 channels : {1, 3, 4, 15, 16, 17, 31, 33, 63, 64, 65, 130}) {
    const ConvCase c{.batch = 2, .channels = channels};
    expect_exact(depthwise_probe(c), depthwise_as_planned, text(c));
  }
}

TEST(QDepthwise, KernelsStridesAndDilations) {
  for (s64 kernel_h : {1, 2, 3, 5, 9}) {
    for (s64 kernel_w : {1, 3, 4}) {
      for (s64 stride : {1, 2}) {
        for (s64 dilation : {1, 2}) {
          ConvCase c{.channels = 20, .height = 17, .width = 19};
          c.kernel_h = kernel_h;
          c.kernel_w = kernel_w;
          c.stride = stride;
          c.dilation = dilation;
          c.pads = {1, 0, 2, 3};
          expect_exact(depthwise_probe(c), depthwise_as_planned, text(c));
        }
      }
    }
  }
}

TEST(QDepthwise, WidthsAroundTheStrip) {
  for (s64 width : {1, 3, 4, 5, 15, 16, 17, 33}) {
    const ConvCase c{.channels = 66, .height = 3, .width = width};
    expect_exact(depthwise_probe(c), depthwise_as_planned, text(c));
  }
}

// A register holds parts of several pixels: every share of a pixel in it, at both strides.
TEST(QDepthwise, ThreeByThreeOfEveryWidth) {
  for (s64 channels : {1, 2, 3, 5, 7, 8, 12, 16, 24, 32, 40, 48, 63, 64, 65, 72, 96, 144}) {
    for (s64 stride : {1, 2}) {
      for (s64 width : {3, 6, 13}) {
        ConvCase c{.batch = 2, .channels = channels, .height = 7, .width = width};
        c.stride = stride;
        expect_exact(depthwise_probe(c), depthwise_as_planned, text(c));
        c.pads = {0, 0, 0, 0};
        expect_exact(depthwise_probe(c), depthwise_as_planned, text(c) + ", unpadded");
      }
    }
  }
}

TEST(QDepthwise, ZeroPointsAndSaturation) {
  for (s64 zero_point : {0, 1, 127, 128, 255}) {
    for (Codes codes : {Codes::any, Codes::extremes, Codes::highest}) {
      ConvCase c{.channels = 24, .kernel_h = 5, .kernel_w = 5, .pads = {2, 2, 2, 2}};
      c.zero_point = zero_point;
      c.codes = codes;
      c.extreme_weights = codes != Codes::any;
      for (s64 size : {5, 3}) {
        c.kernel_h = c.kernel_w = size;
        c.multiplier = 0.0f;
        expect_exact(depthwise_probe(c), depthwise_as_planned, text(c));
        c.multiplier = 1e9f;
        expect_exact(depthwise_probe(c), depthwise_as_planned, text(c));
      }
    }
  }
}

TEST(QDepthwise, ResidualLeakyTableAndRealOutputs) {
  for (s64 channels : {7, 60, 64, 70}) {
    const ConvCase c{.batch = 2, .channels = channels};
    Probe probe = depthwise_probe(c);
    add_residual(probe, 200);
    probe.attrs.set("activation", std::string("leaky_relu"));
    Probe table = probe;
    table.inputs.push_back(constant(random_u8({256}, 11)));
    expect_exact(table, depthwise_as_planned, text(c) + ", table");
    probe.attrs.set("output_dtype", std::string("f32"));
    expect_exact(probe, depthwise_as_planned, text(c) + ", f32");
    probe.attrs.set("activation", std::string("relu"));
    expect_exact(probe, depthwise_as_planned, text(c) + ", f32 relu");
  }
}

// Weights of nine bits: codes less their zero point.
TEST(QDepthwise, WeightsBeyondS8) {
  for (s64 channels : {3, 8, 16, 24, 64, 65, 96, 130}) {
    for (s64 kernel : {1, 3, 5}) {
      for (s64 stride : {1, 2}) {
        ConvCase c{.batch = 2, .channels = channels, .height = 9, .width = 13};
        c.kernel_h = c.kernel_w = kernel;
        c.stride = stride;
        for (bool extreme : {false, true}) {
          Probe probe = depthwise_probe(c);
          Tensor wide(Dtype::s16, probe.inputs[kProductWeights].tensor.shape());
          const Tensor a = random_s8(wide.shape(), 3, extreme);
          const Tensor b = random_s8(wide.shape(), 4, extreme);
          for (size_t i = 0; i < static_cast<size_t>(wide.elements()); ++i) {
            const s32 sum = a.as<s8>()[i] + b.as<s8>()[i];
            wide.mutable_as<s16>()[i] = static_cast<s16>(sum);
          }
          probe.inputs[kProductWeights] = constant(wide);
          expect_exact(probe, depthwise_as_planned, text(c) + ", wide");
          add_residual(probe, 200);
          expect_exact(probe, depthwise_as_planned, text(c) + ", wide, residual");
        }
      }
    }
  }
}

// Kernels leave out what codes do not need, and read a tap as one register, two pieces, or quads of two registers where its
// bytes lie so: rows of several registers, of which the last reads up to the value's end.
TEST(QDepthwise, EveryKindOfCodesFromEverySource) {
  for (s64 channels : {8, 16, 24, 32, 64, 96, 128}) {
    for (s64 stride : {1, 2}) {
      ConvCase c{.channels = channels, .height = 6, .width = stride * (64 / channels * 5 + 3)};
      c.stride = stride;
      const Probe bound = depthwise_probe(c);
      Probe saturate = bound;
      saturate.attrs.set("output_zero_point", s64{0});
      saturate.attrs.set("lo", s64{0});
      saturate.attrs.set("hi", s64{255});
      Probe table = saturate;
      table.attrs.set("output_zero_point", s64{131});
      table.inputs.insert(table.inputs.end(), {omitted(), constant(random_u8({256}, 11))});
      Probe bound_table = bound;
      bound_table.inputs = table.inputs;
      expect_exact(saturate, depthwise_as_planned, text(c) + ", saturated");
      expect_exact(bound, depthwise_as_planned, text(c) + ", bounded");
      expect_exact(table, depthwise_as_planned, text(c) + ", table");
      expect_exact(bound_table, depthwise_as_planned, text(c) + ", bounded, table");
    }
  }
}

// Rows keep the promise of their names: the best kernel of each level runs.
TEST(QDepthwise, EveryTableRowIsTested) {
  const auto depthwise = expect_exact(depthwise_probe({}), depthwise_as_planned, "names");
  const auto wide = expect_exact(depthwise_probe({.kernel_h = 5}), depthwise_as_planned, "names");
  for (const FlatDepthwiseKernel& kernel : kFlatDepthwiseKernels) {
    if (!hardware_has(kernel.isa)) continue;
    EXPECT_NE(std::find(depthwise.begin(), depthwise.end(), kernel.name), depthwise.end())
        << kernel.name;
  }
  for (const DepthwiseKernel& kernel : kDepthwiseKernels) {
    if (!hardware_has(kernel.isa)) continue;
    EXPECT_NE(std::find(wide.begin(), wide.end(), kernel.name), wide.end()) << kernel.name;
  }
}

}  // namespace
}  // namespace octet
