// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions with the 1x1 convolutions around them: one kernel gives the bytes that a CPU gives layer by layer.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/backends.h"
#include "codes_graph.h"
#include "compile_only.h"
#include "fine_lines.h"
#include "graph/interpret.h"
#include "one_node.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "plan/chain_testing.h"

namespace octet::test {
namespace {

struct SeparableCase {
  s64 batch = 1, channels = 16, window = 16, outputs = 16;  // of x, of the window, of y
  s64 height = 9, width = 11, kernel = 3, stride = 1;
  bool expand = true, project = true, pool = false;
  bool x_s8 = false, residual = false, addend = false;
  std::array<bool, 3> s8 = {}, table = {};  // of the results of expand, window, project
  std::array<s64, 4> zero_points = {};      // of x and of these
  std::array<bool, 3> fine = {};            // the table is of lines

  std::string text() const {
    return fmt::format("{}x{}x{}x{} -{}-> {} -{}-> {}, kernel {}, stride {}{}{}, {} -> {}{}{}",
                       batch, channels, height, width, expand ? "1x1" : "", window,
                       project ? "1x1"
                       : pool  ? "max"
                               : "",
                       outputs, kernel, stride, residual ? ", residual" : "",
                       addend ? ", addend" : "", x_s8, s8[0], s8[1], s8[2]);
  }
};

class SeparableGraph : public CodesGraph {
 public:
  SeparableGraph(const SeparableCase& c, u32 seed) : CodesGraph(seed), case_(c) {
    ValueId value = input("x", {c.batch, c.channels, c.height, c.width}, c.x_s8);
    const ValueId x = value;
    s64 zero_point = c.zero_points[0];
    const auto add = [&](size_t part, s64 outputs, s64 kernel, s64 stride, s64 groups) {
      value = convolution(value, zero_point, part, {outputs, kernel, stride, groups}, x);
      zero_point = c.zero_points[part + 1];
    };
    if (c.expand) add(0, c.window, 1, 1, 1);
    add(1, c.window, c.kernel, c.stride, c.window);
    if (c.project) add(2, c.outputs, 1, 1, 1);
    graph_.outputs = {c.pool ? pooled(value) : value};
  }

 private:
  struct Sizes {
    s64 outputs, kernel, stride, groups;
  };

  ValueId pooled(ValueId x) {
    const TensorType in = graph_.value(x).type;
    Node node;
    node.op = find_op("MaxPool");
    node.name = "pool";
    node.inputs = {x};
    for (const char* name : {"kernel_shape", "strides"})
      node.attrs.set(name, std::vector<s64>{2, 2});
    node.outputs = {graph_.add_value(
        "p", {in.dtype, {in.shape[0], in.shape[1], in.shape[2] / 2, in.shape[3] / 2}})};
    graph_.nodes.push_back(node);
    return node.outputs[0];
  }

  ValueId convolution(ValueId x, s64 zero_point, size_t part, const Sizes& sizes, ValueId first) {
    const SeparableCase& c = case_;
    const Shape in = graph_.value(x).type.shape;
    const s64 pad = sizes.kernel / 2, per_group = in[1] / sizes.groups;
    const auto out = [&](s64 size) { return (size + 2 * pad - sizes.kernel) / sizes.stride + 1; };
    const Shape y{in[0], sizes.outputs, out(in[2]), out(in[3])};
    const f32 spread = (c.fine[part] ? 5.0f : 0.02f) /
                       std::sqrt(static_cast<f32>(per_group * sizes.kernel * sizes.kernel));
    Node node;
    node.op = find_op("QConv");
    node.name = fmt::format("conv{}", part);
    const auto name = [&](const char* what) { return fmt::format("{}{}", what, part); };
    node.inputs = {x,
                   constant<s8>(name("w"), {sizes.outputs, per_group, sizes.kernel, sizes.kernel},
                                [&] { return static_cast<s8>(random_() % 255 - 127); }),
                   constant<s32>(name("b"), {sizes.outputs},
                                 [&] { return static_cast<s32>(random_() % 6000) - 3000; }),
                   // Powers of two make ties.
                   constant<f32>(name("m"), {sizes.outputs}, [&] {
                     return random_() % 4 == 0
                                ? std::exp2(std::round(std::log2(spread)))
                                : spread * (0.5f + 0.001f * static_cast<f32>(random_() % 1000));
                   })};
    node.attrs.set("pads", std::vector<s64>{pad, pad, pad, pad});
    node.attrs.set("strides", std::vector<s64>{sizes.stride, sizes.stride});
    node.attrs.set("dilations", std::vector<s64>{1, 1});
    node.attrs.set("group", sizes.groups);
    const bool is_signed = c.s8[part] && (!c.table[part] || c.fine[part]);
    add_operands(node, part, zero_point, y, first);
    node.attrs.set("output_dtype", std::string(is_signed ? "s8" : "u8"));
    node.attrs.set("output_zero_point", c.zero_points[part + 1]);
    const CodeRange range = code_range(is_signed ? Dtype::s8 : Dtype::u8);
    node.attrs.set("lo", s64{random_() % 3 == 0 ? range.lo + 7 : range.lo});
    node.attrs.set("hi", s64{random_() % 3 == 0 ? range.hi - 20 : range.hi});
    const ValueId result = graph_.add_value(name("y"), {is_signed ? Dtype::s8 : Dtype::u8, y});
    node.outputs = {result};
    graph_.nodes.push_back(std::move(node));
    return result;
  }

  void add_operands(Node& node, size_t part, s64 zero_point, const Shape& y, ValueId first) {
    const SeparableCase& c = case_;
    const bool residual = part == 2 && c.residual, addend = part == 2 && c.addend;
    const auto place = [&](size_t i, ValueId value) {
      if (node.inputs.size() <= i) node.inputs.resize(i + 1, kNoValue);
      node.inputs[i] = value;
    };
    // What MobileNets add is what the chain begins with.
    const bool own = residual && graph_.value(first).type.shape == y;
    if (residual) place(kProductResidual, own ? first : input("r", y, c.x_s8));
    const std::string name = fmt::format("t{}", part);
    if (c.fine[part]) {
      const Lines lines = part == 1 ? Lines::beyond : Lines::within;
      const CodeRange range = code_range(c.s8[part] ? Dtype::s8 : Dtype::u8);
      node.attrs.set("fine_zero_point", static_cast<s64>(random_() % kFineCodes));
      place(kProductTable,
            graph_.add_constant(name, random_lines(random_, lines, range.lo + 7, range.hi - 20)));
    } else if (c.table[part]) {
      place(kProductTable, constant<u8>(name, {256}, [&] { return static_cast<u8>(random_()); }));
    }
    if (addend) place(kProductAddend, input("a", y, false));
    const s64 other = own ? c.zero_points[0] : 5;
    node.attrs.set("input_zero_points",
                   std::vector<s64>{zero_point, 0, 0, 0, residual ? other : 0, 0, addend ? 5 : 0});
    if (residual) node.attrs.set("residual_multiplier", 0.7319f);
    if (!addend) return;
    node.attrs.set("sum_dtype", std::string("u8"));
    node.attrs.set("sum_multipliers", std::vector<f32>{0.61f, 0.37f});
    node.attrs.set("sum_zero_point", s64{11}), node.attrs.set("sum_lo", s64{0});
    node.attrs.set("sum_hi", s64{255}), node.attrs.set("sum_addend_first", s64{1});
    node.attrs.set("sum_own_zero_point", c.zero_points[3]);
  }

  const SeparableCase case_;
};

// On a GPU by every likely tile, on an emulated one by the chosen one.
void expect_one_kernel(const SeparableCase& c, u32 seed) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const SeparableGraph graph(c, seed);
  const DearChains whatever_they_cost;
  const Target target = make_target(device->name(), 1, nullptr);
  const Plan plan = make_plan(graph.graph(), graph.shapes(), target);
  const auto step = std::ranges::find(plan.steps, 0u, &PlanStep::node);
  ASSERT_NE(step, plan.steps.end()) << c.text();
  std::string rejects;
  for (const PlanStep& each : plan.steps)
    rejects += fmt::format("{}; ", fmt::join(each.rejects, "; "));
  ASSERT_TRUE(step->kernel.starts_with("separable")) << c.text() << ": " << rejects;
  if (!is_emulated(*device) || only_compiles()) {
    std::vector<std::string> kernels;
    expect_cpu_bytes(graph.graph(), 0, graph.inputs(), c.text(), kernels);
    return;
  }
  const std::vector<Tensor> want = interpret(graph.graph(), graph.inputs()),
                            got = run_on(graph.graph(), graph.inputs(), target);
  EXPECT_EQ(std::memcmp(got[0].data(), want[0].data(), want[0].bytes()), 0)
      << c.text() << ", " << step->kernel;
}

TEST(GpuSeparable, InvertedResidual) {
  expect_one_kernel({.batch = 2,
                     .channels = 24,
                     .window = 48,
                     .outputs = 24,
                     .x_s8 = true,
                     .residual = true,
                     .s8 = {false, false, true},
                     .zero_points = {-37, 3, 0, 4}},
                    1);
}

TEST(GpuSeparable, StridesAndSignedCodes) {
  expect_one_kernel({.channels = 16,
                     .window = 40,
                     .outputs = 20,
                     .height = 13,
                     .width = 10,
                     .stride = 2,
                     .s8 = {true, true, false},
                     .zero_points = {9, -20, 7, 130}},
                    2);
}

TEST(GpuSeparable, DepthwiseThenPointwise) {
  expect_one_kernel({.batch = 3,
                     .channels = 32,
                     .window = 32,
                     .outputs = 64,
                     .expand = false,
                     .residual = true,
                     .s8 = {false, false, true},
                     .zero_points = {111, 0, 21, -3}},
                    3);
  expect_one_kernel({.channels = 8,
                     .window = 8,
                     .outputs = 18,
                     .height = 14,
                     .width = 7,
                     .stride = 2,
                     .expand = false,
                     .x_s8 = true,
                     .zero_points = {-5, 0, 0, 0}},
                    4);
}

// Several slices of channels, and several tiles of a block: each is read while the one before it is multiplied.
TEST(GpuSeparable, SlicesAndTilesFollowEachOther) {
  expect_one_kernel({.batch = 4,
                     .channels = 96,
                     .window = 96,
                     .outputs = 16,
                     .height = 24,
                     .width = 24,
                     .expand = false},
                    10);
  expect_one_kernel(
      {.batch = 4, .channels = 16, .window = 96, .outputs = 16, .height = 24, .width = 24}, 11);
}

TEST(GpuSeparable, PointwiseThenDepthwise) {
  expect_one_kernel({.batch = 2,
                     .channels = 16,
                     .window = 64,
                     .project = false,
                     .s8 = {true, false, false},
                     .zero_points = {0, -4, 2, 0}},
                    5);
  // As the heads of detectors: accesses are as wide as the channels allow.
  for (const s64 channels : {1, 10}) {
    expect_one_kernel({.channels = 64,
                       .window = channels,
                       .height = 8,
                       .width = 8,
                       .project = false,
                       .s8 = {false, true, false},
                       .zero_points = {30, 100, -8, 0}},
                      static_cast<u32>(channels));
  }
}

TEST(GpuSeparable, PoolBehindIt) {
  expect_one_kernel({.batch = 2,
                     .channels = 16,
                     .window = 32,
                     .height = 9,
                     .width = 14,
                     .project = false,
                     .pool = true,
                     .s8 = {false, true, false},
                     .zero_points = {0, 8, -20, 0}},
                    8);
  expect_one_kernel({.channels = 20,
                     .window = 20,
                     .height = 12,
                     .width = 7,
                     .project = false,
                     .pool = true,
                     .zero_points = {50, 0, 30, 0}},
                    9);
}

TEST(GpuSeparable, TablesWindowsAndSums) {
  expect_one_kernel({.channels = 20,
                     .window = 24,
                     .outputs = 32,
                     .kernel = 5,
                     .addend = true,
                     .table = {true, true, true},
                     .zero_points = {17, 90, 100, 120}},
                    6);
  expect_one_kernel({.channels = 12,
                     .window = 12,
                     .outputs = 6,
                     .kernel = 5,
                     .stride = 2,
                     .expand = false,
                     .table = {false, true, false},
                     .zero_points = {17, 0, 100, 50}},
                    7);
}

TEST(GpuSeparable, LinesOfFinerCodes) {
  expect_one_kernel({.channels = 20,
                     .window = 24,
                     .outputs = 32,
                     .kernel = 5,
                     .addend = true,
                     .table = {true, true, true},
                     .zero_points = {17, 90, 100, 120},
                     .fine = {true, true, true}},
                    6);
  expect_one_kernel({.channels = 12,
                     .window = 12,
                     .outputs = 6,
                     .stride = 2,
                     .expand = false,
                     .s8 = {false, true, false},
                     .table = {false, true, true},
                     .zero_points = {17, 0, -20, 50},
                     .fine = {false, true, false}},
                    7);
}

}  // namespace
}  // namespace octet::test
