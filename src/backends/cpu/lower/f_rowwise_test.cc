// SPDX-License-Identifier: Apache-2.0
// Softmax, normalizations, means and pools in f32 against the scalar reference, to the bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"

namespace octet {
namespace {

using Ints = std::vector<s64>;

Tensor ints(const Ints& values) {
  return Tensor::of<s64>(Shape{static_cast<s64>(values.size())}, values);
}

// Runs at every level and with several threads; each result equals the reference.
void expect_exact(Probe probe, Offer (*lowering)(const LowerRequest&), const std::string& what) {
  const std::vector<Tensor> want = probe.reference();
  for (Isa isa : simd_levels()) {
    for (int threads : {1, 3}) {
      probe.isa = isa;
      probe.threads = threads;
      const ProbeResult result = run_probe(probe, lowering);
      ASSERT_EQ(result.reject, "") << what;
      expect_same_f32(result.outputs[0], want[0], what + " " + result.candidate.kernel);
    }
  }
}

TEST(FloatSoftmax, EqualsTheReference) {
  for (s64 count = 1; count < 70; ++count) {
    expect_exact({.op = "Softmax", .inputs = {{random_f32(Shape{3, count}, 1, 5.0f)}}},
                 lower_f_softmax, std::to_string(count));
  }
  expect_exact({.op = "Softmax", .inputs = {{random_f32(Shape{4, 3, 65, 65}, 2, 3.0f)}}},
               lower_f_softmax, "attention");
}

TEST(FloatLogSoftmax, EqualsTheReference) {
  for (s64 count = 1; count < 70; ++count) {
    expect_exact({.op = "LogSoftmax", .inputs = {{random_f32(Shape{5, count}, 1, 5.0f)}}},
                 lower_f_log_softmax, std::to_string(count));
  }
  constexpr f32 kInf = std::numeric_limits<f32>::infinity();
  const std::vector<f32> rows = {1e30f, -1e30f, 0.0f, -kInf, 1.0f, -kInf, 88.0f, -88.0f, 3.0f};
  expect_exact({.op = "LogSoftmax", .inputs = {{Tensor::of<f32>(Shape{3, 3}, rows)}}},
               lower_f_log_softmax, "far apart");
  Probe pixels{.op = "LogSoftmax",
               .inputs = {{random_f32(Shape{2, 21, 9, 7}, 4, 6.0f), false, Layout::nhwc}}};
  pixels.attrs.set("axis", s64{1});
  expect_exact(pixels, lower_f_log_softmax, "channels of pixels");
}

// Rows that are turned: more and fewer than a register holds.
TEST(FloatSoftmax, ShortRows) {
  for (s64 count = 1; count <= 9; ++count) {
    for (s64 rows : {1, 7, 8, 16, 37}) {
      expect_exact({.op = "Softmax", .inputs = {{random_f32(Shape{rows, count}, 3, 6.0f)}}},
                   lower_f_softmax, fmt::format("{} rows of {}", rows, count));
    }
  }
}

TEST(FloatSoftmax, SpecialValues) {
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::numeric_limits<f32>::quiet_NaN();
  const f32 rows[] = {1.0f, -inf, 2.0f, nan, 0.0f, 1.0f, -inf, -inf, -inf, inf, 1.0f, 0.0f};
  expect_exact({.op = "Softmax", .inputs = {{Tensor::of<f32>(Shape{4, 3}, rows)}}}, lower_f_softmax,
               "special");
}

// Over channels (segmentation) and over bins (the boxes of YOLO), of dense values and of images.
TEST(FloatSoftmax, OtherAxes) {
  for (const Shape& shape :
       {Shape{2, 16, 4, 37}, Shape{1, 21, 9, 8}, Shape{3, 1, 5, 1}, Shape{1, 35, 1, 130}}) {
    for (s64 axis : {0, 1, 2}) {
      for (Layout layout : {Layout::linear, Layout::nhwc}) {
        Probe probe{.op = "Softmax", .inputs = {{random_f32(shape, 4, 6.0f), false, layout}}};
        probe.attrs.set("axis", axis);
        expect_exact(probe, lower_f_softmax, fmt::format("{} axis {}", to_string(shape), axis));
      }
    }
  }
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::numeric_limits<f32>::quiet_NaN();
  const f32 columns[] = {1.0f, -inf, 2.0f, nan, 0.0f, 1.0f, -inf, -inf, -inf, inf, 1.0f, 0.0f};
  Probe special{.op = "Softmax", .inputs = {{Tensor::of<f32>(Shape{4, 3}, columns)}}};
  special.attrs.set("axis", s64{0});
  expect_exact(special, lower_f_softmax, "special");
}

TEST(FloatLayerNorm, EqualsTheReference) {
  for (s64 count : {1, 2, 7, 8, 15, 16, 17, 33, 192, 1000}) {
    for (bool bias : {false, true}) {
      Probe probe{
          .op = "LayerNormalization",
          .inputs = {{random_f32(Shape{2, 20, count}, 1)}, {random_f32(Shape{count}, 2), true}}};
      if (bias) probe.inputs.push_back({random_f32(Shape{count}, 3), true});
      expect_exact(probe, lower_f_layer_norm, std::to_string(count));
    }
  }
}

TEST(FloatReduce, EqualsTheReference) {
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceL2", "ReduceSumSquare"}) {
    for (s64 count : {1, 7, 16, 49, 1000}) {
      Probe probe{.op = op, .inputs = {{random_f32(Shape{2, 30, count}, 1)}, {ints({-1}), true}}};
      expect_exact(probe, lower_f_reduce, op + std::to_string(count));
    }
    for (s64 channels : {1, 5, 16, 40}) {
      for (Layout layout : {Layout::linear, Layout::nhwc}) {
        Probe probe{.op = op,
                    .inputs = {{random_f32(Shape{2, channels, 7, 9}, 1), false, layout},
                               {ints({2, 3}), true}}};
        expect_exact(probe, lower_f_reduce, op + std::to_string(channels));
        probe.attrs.set("keepdims", s64{0});
        expect_exact(probe, lower_f_reduce, op + std::to_string(channels));
      }
    }
    expect_exact({.op = op, .inputs = {{random_f32(Shape{3, 5, 7}, 1)}}}, lower_f_reduce,
                 "all axes");
    for (s64 inner : {1, 3, 16, 17, 70}) {
      for (const Ints& axes : {Ints{0}, {1}, {2}, {0, 1}, {1, 2}, {-2, -3}}) {
        expect_exact(
            {.op = op, .inputs = {{random_f32(Shape{3, 19, 6, inner}, 1)}, {ints(axes), true}}},
            lower_f_reduce, fmt::format("{} from {} of {}", op, axes[0], inner));
      }
    }
  }
}

TEST(FloatReduce, SaysWhyNot) {
  Probe probe{.op = "ReduceMean",
              .inputs = {{random_f32(Shape{2, 3, 4}, 1)}, {ints({0, 2}), true}},
              .isa = first_simd_level()};
  EXPECT_EQ(run_probe(probe, lower_f_reduce).reject, "the reduced axes are not neighbours");
}

TEST(FloatRmsNorm, EqualsTheReference) {
  for (s64 count : {1, 7, 8, 15, 16, 17, 33, 300}) {
    Probe probe{
        .op = "RMSNormalization",
        .inputs = {{random_f32(Shape{3, 2, count}, 1)}, {random_f32(Shape{count}, 2), true}}};
    probe.attrs.set("epsilon", 1e-3f);
    expect_exact(probe, lower_f_rms_norm, std::to_string(count));
  }
}

TEST(FloatNorm, EqualsTheReference) {
  for (s64 channels : {1, 5, 16, 35}) {
    const Shape c{channels};
    const ProbeInput x{random_f32(Shape{2, channels, 6, 7}, 1), false, Layout::nhwc};
    Tensor variance = random_f32(c, 5);
    for (f32& v : variance.mutable_as<f32>()) v = std::fabs(v) + 0.1f;
    expect_exact({.op = "InstanceNormalization",
                  .inputs = {x, {random_f32(c, 2), true}, {random_f32(c, 3), true}}},
                 lower_f_norm, "instance");
    const auto expect_batch_norm = [&](const ProbeInput& input, const std::string& what) {
      expect_exact({.op = "BatchNormalization",
                    .inputs = {input,
                               {random_f32(c, 2), true},
                               {random_f32(c, 3), true},
                               {random_f32(c, 4), true},
                               {variance, true}}},
                   lower_f_norm, what);
    };
    expect_batch_norm(x, "batch");
    expect_batch_norm({random_f32(Shape{19, channels}, 1)}, "batch of rows");
  }
}

// Rows and volumes: groups of one channel.
TEST(FloatGroupNorm, InstancesThatAreNoImages) {
  for (const Shape& shape : {Shape{2, 5, 37}, Shape{2, 3, 4, 5, 6}, Shape{1, 16, 1}}) {
    const Shape c{shape[1]};
    expect_exact(
        {.op = "InstanceNormalization",
         .inputs = {{random_f32(shape, 1)}, {random_f32(c, 2), true}, {random_f32(c, 3), true}}},
        lower_f_group_norm, "instance");
  }
}

TEST(FloatGroupNorm, EqualsTheReference) {
  struct Case {
    Shape x;
    s64 groups;
    bool by_group;  // one scale for each group, as opset 18 has them
  };
  for (const Case& c :
       {Case{{2, 6, 5, 7}, 3, false}, Case{{1, 8, 9}, 2, true}, Case{{3, 4, 1, 1}, 4, false},
        Case{{2, 32, 16, 16}, 1, false}, Case{{1, 12, 3, 5, 2}, 6, true}}) {
    const Shape values{c.by_group ? c.groups : c.x[1]};
    Probe probe{
        .op = "GroupNormalization",
        .inputs = {
            {random_f32(c.x, 1)}, {random_f32(values, 2), true}, {random_f32(values, 3), true}}};
    probe.attrs.set("num_groups", c.groups);
    probe.attrs.set("epsilon", 1e-3f);
    expect_exact(probe, lower_f_group_norm, to_string(c.x));
  }
}

TEST(FloatPool, MeansOfRowsEqualTheReference) {
  struct Case {
    Ints kernel, strides, pads;
    s64 ceil, include_pad;
  };
  const Case cases[] = {{{2}, {2}, {0, 0}, 0, 0},
                        {{3}, {1}, {1, 1}, 0, 1},
                        {{5}, {3}, {2, 1}, 1, 0},
                        {{400}, {1}, {0, 0}, 0, 0}};
  for (const Case& c : cases) {
    for (const s64 channels : {1, 6, 37}) {
      Probe probe{.op = "AveragePool", .inputs = {{random_f32(Shape{2, channels, 403}, 1)}}};
      probe.attrs.set("kernel_shape", c.kernel);
      probe.attrs.set("strides", c.strides);
      probe.attrs.set("pads", c.pads);
      probe.attrs.set("ceil_mode", c.ceil);
      probe.attrs.set("count_include_pad", c.include_pad);
      expect_exact(probe, lower_f_pool, std::to_string(channels));
    }
  }
}

TEST(FloatPool, EqualsTheReference) {
  struct Case {
    Ints kernel, strides, pads;
    s64 ceil, include_pad;
  };
  const Case cases[] = {{{2, 2}, {2, 2}, {0, 0, 0, 0}, 0, 0}, {{3, 3}, {2, 2}, {1, 1, 1, 1}, 0, 0},
                        {{3, 3}, {2, 2}, {1, 1, 1, 1}, 0, 1}, {{3, 2}, {1, 2}, {1, 0, 0, 1}, 1, 1},
                        {{5, 5}, {1, 1}, {2, 2, 2, 2}, 0, 0}, {{3, 3}, {2, 2}, {0, 0, 0, 0}, 1, 0}};
  const std::pair<s64, Layout> images[] = {
      {1, Layout::linear},  {1, Layout::nhwc},  {6, Layout::linear}, {6, Layout::nhwc},
      {16, Layout::linear}, {16, Layout::nhwc}, {37, Layout::nhwc}};
  for (const Case& c : cases) {
    for (const char* op : {"MaxPool", "AveragePool"}) {
      for (const auto& [channels, layout] : images) {
        Probe probe{.op = op,
                    .inputs = {{random_f32(Shape{2, channels, 13, 12}, 1), false, layout}},
                    .spread = 2};
        probe.attrs.set("kernel_shape", c.kernel);
        probe.attrs.set("strides", c.strides);
        probe.attrs.set("pads", c.pads);
        probe.attrs.set("ceil_mode", c.ceil);
        if (op[0] == 'A') probe.attrs.set("count_include_pad", c.include_pad);
        expect_exact(probe, lower_f_pool, op + std::to_string(channels));
        if (first_simd_level() == Isa::none) continue;
        probe.isa = first_simd_level();
        const std::string kernel = run_probe(probe, lower_f_pool).candidate.kernel;
        const bool planes = layout == Layout::linear && channels < 8;
        EXPECT_EQ(kernel.find("planes") != std::string::npos, planes) << kernel;
      }
    }
  }
}

}  // namespace
}  // namespace octet
