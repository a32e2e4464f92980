// SPDX-License-Identifier: Apache-2.0
// Layers of 16 bits on a GPU: products, functions and depthwise convolutions with their casts as one kernel each, values stored in 16 bits, and layers between codes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "on_gpu.h"
#include "ops/registry.h"

namespace octet::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class GpuHalves : public OnGpu {
 protected:
  Target target() const { return make_target(device_->name(), 1, nullptr); }

  std::vector<std::string> kernels(const Graph& graph) const {
    std::vector<Shape> shapes;
    for (const ValueId id : graph.inputs) shapes.push_back(graph.value(id).type.shape);
    const Plan plan = make_plan(graph, shapes, target());
    std::vector<std::string> names;
    for (const PlanStep& step : plan.steps) names.push_back(step.candidate.kernel);
    return names;
  }

  // The first such node of the plan's graph.
  size_t depthwise_node(const Graph& graph) const {
    const std::vector<Shape> shapes{graph.value(graph.inputs[0]).type.shape};
    const Plan plan = make_plan(graph, shapes, target());
    for (const PlanStep& step : plan.steps) {
      if (step.candidate.kernel.starts_with("depthwise_real")) return step.node;
    }
    return plan.graph.nodes.size();
  }

  // Nearer to the CPU's than one part in `parts` of the largest.
  void expect_near(const Graph& graph, f32 parts) const {
    std::mt19937 random(3);
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs) {
      inputs.emplace_back(graph.value(id).type.dtype, graph.value(id).type.shape);
      for (f32& x : inputs.back().mutable_as<f32>())
        x = static_cast<f32>(random() % 2000) / 500.0f - 2.0f;
    }
    const Tensor want = run_on(graph, inputs, make_target("cpu", 1, nullptr))[0];
    const Tensor got = run_on(graph, inputs, target())[0];
    f32 largest = 0;
    for (const f32 x : want.as<f32>()) largest = std::max(largest, std::abs(x));
    ASSERT_GT(largest, 0.0f);
    for (size_t i = 0; i < want.as<f32>().size(); ++i)
      ASSERT_NEAR(got.as<f32>()[i], want.as<f32>()[i], largest / parts) << i;
  }
};

// By warps, or by a Hopper's warpgroups.
auto is_product_of(const std::string& type) {
  return AnyOf(HasSubstr(type + "_terms1_"), HasSubstr(type + "_wgmma_"));
}

// "NAME: f32[SHAPE] = {...}": sixteenths, which both types hold, or tenths.
std::string weights(const char* name, const char* shape, int count, f32 step = 0.0625f) {
  std::string text = fmt::format("const %{}: f32[{}] = {{", name, shape);
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", static_cast<f32>(i * 7 % 11 - 5) * step);
  return text + "}\n";
}

// x -> product -> depthwise -> sum, each rounded to the type.
Graph chain_of(const std::string& type) {
  std::string text = "graph \"g\"(%x: f32[2,8,9,7]) {\n" + weights("w", "16,8,3,3", 1152) +
                     weights("d", "16,1,3,3", 144) + weights("v", "16,16,1,1", 256) + R"(
  %r: f32[2,8,9,7] = RoundTo(%x) {to="TYPE"}
  %c: f32[2,16,9,7] = Conv(%r, %w) {pads=ints[1, 1, 1, 1], activation="relu"}
  %cr: f32[2,16,9,7] = RoundTo(%c) {to="TYPE"}
  %e: f32[2,16,9,7] = Conv(%cr, %d) {pads=ints[1, 1, 1, 1], group=16}
  %er: f32[2,16,9,7] = RoundTo(%e) {to="TYPE"}
  %s: f32[2,16,9,7] = Sigmoid(%er)
  %sr: f32[2,16,9,7] = RoundTo(%s) {to="TYPE"}
  %f: f32[2,16,9,7] = Conv(%sr, %v, _, %er)
  %y: f32[2,16,9,7] = RoundTo(%f) {to="TYPE"}
  return %y
})";
  for (size_t at = 0; (at = text.find("TYPE", at)) != text.npos;) text.replace(at, 4, type);
  return parse_graph(text, find_op);
}

TEST_F(GpuHalves, LayersAreOneKernelEach) {
  for (const char* type : {"f16", "bf16"}) {
    const Graph graph = chain_of(type);
    const std::vector<std::string> names = kernels(graph);
    EXPECT_THAT(names, Contains(is_product_of(type)).Times(2)) << type;
    EXPECT_THAT(names, Contains(HasSubstr("depthwise_real_")));
    EXPECT_THAT(names, Contains("half_reals"));
    EXPECT_THAT(names, Not(Contains("reals")));  // no rounding is a step
    expect_near(graph, *type == 'f' ? 500.0f : 60.0f);
  }
}

TEST_F(GpuHalves, ALayerBetweenCodesReadsAndWritesThem) {
  const Graph graph =
      parse_graph("graph \"g\"(%x: f32[2,8,9,7]) {\n" + weights("w", "16,8,3,3", 1152, 0.1f) + R"(
  const %s: f32[] = {0.0157}
  const %z: u8[] = {128}
  const %t: f32[] = {0.05}
  const %u: u8[] = {3}
  %q: u8[2,8,9,7] = QuantizeLinear(%x, %s, %z)
  %r: f32[2,8,9,7] = DequantizeLinear(%q, %s, %z)
  %c: f32[2,16,9,7] = Conv(%r, %w) {pads=ints[1, 1, 1, 1], activation="relu"}
  %p: u8[2,16,9,7] = QuantizeLinear(%c, %t, %u)
  %y: f32[2,16,9,7] = DequantizeLinear(%p, %t, %u)
  return %y
})",
                  find_op);
  const std::vector<std::string> names = kernels(graph);
  EXPECT_THAT(names, Contains(HasSubstr("conv_terms3_")));
  expect_near(graph, 100.0f);  // a code more or less where a sum lies between two
}

// Codes that a layer reads as numbers of 16 bits are rounded to them first, as on the CPU.
TEST_F(GpuHalves, ALayerOf16BitsBetweenCodes) {
  for (const char* type : {"f16", "bf16"}) {
    std::string text = "graph \"g\"(%x: f32[2,8,9,7]) {\n" + weights("w", "16,8,3,3", 1152) + R"(
  const %s: f32[] = {0.0157}
  const %z: u8[] = {128}
  %q: u8[2,8,9,7] = QuantizeLinear(%x, %s, %z)
  %r: f32[2,8,9,7] = DequantizeLinear(%q, %s, %z)
  %h: f32[2,8,9,7] = RoundTo(%r) {to="TYPE"}
  %c: f32[2,16,9,7] = Conv(%h, %w) {pads=ints[1, 1, 1, 1]}
  %y: f32[2,16,9,7] = RoundTo(%c) {to="TYPE"}
  return %y
})";
    for (size_t at = 0; (at = text.find("TYPE", at)) != text.npos;) text.replace(at, 4, type);
    const Graph graph = parse_graph(text, find_op);
    EXPECT_THAT(kernels(graph), Contains(is_product_of(type))) << type;
    expect_near(graph, *type == 'f' ? 1500.0f : 200.0f);
  }
}

// What two layers read is a step of its own, and they are none the wider for it.
TEST_F(GpuHalves, RealsOfCodesThatTwoLayersRead) {
  const Graph graph =
      parse_graph("graph \"g\"(%x: f32[2,8,9,7]) {\n" + weights("w", "16,8,3,3", 1152) + R"(
  const %s: f32[] = {0.0157}
  const %z: u8[] = {128}
  %q: u8[2,8,9,7] = QuantizeLinear(%x, %s, %z)
  %r: f32[2,8,9,7] = DequantizeLinear(%q, %s, %z)
  %c: f32[2,16,9,7] = Conv(%r, %w) {pads=ints[1, 1, 1, 1], activation="relu"}
  %p: u8[2,16,9,7] = QuantizeLinear(%c, %s, %z)
  %d: f32[2,16,9,7] = DequantizeLinear(%p, %s, %z)
  %y: f32[2,16,9,7] = Conv(%r, %w, _, %d) {pads=ints[1, 1, 1, 1]}
  return %y
})",
                  find_op);
  EXPECT_THAT(kernels(graph), Contains(HasSubstr("conv_terms3_")).Times(2));  // bf16 weights
  expect_near(graph, 50.0f);
}

// Operands in any order, constants first, and one value as both.
TEST_F(GpuHalves, FunctionsOfAnyOperands) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[2,8,9,7], %v: f32[2,8,9,7]) {
  const %o: f32[] = {1.0}
  %a: f32[2,8,9,7] = RoundTo(%x) {to="f16"}
  %b: f32[2,8,9,7] = RoundTo(%v) {to="f16"}
  %c: f32[2,8,9,7] = Sub(%b, %a)
  %d: f32[2,8,9,7] = RoundTo(%c) {to="f16"}
  %e: f32[2,8,9,7] = Sub(%o, %d)
  %f: f32[2,8,9,7] = RoundTo(%e) {to="f16"}
  %g: f16[2,8,9,7] = Cast(%f) {to="f16"}
  %h: f32[2,8,9,7] = Cast(%g) {to="f32"}
  %i: f32[2,8,9,7] = Mul(%h, %h)
  %y: f32[2,8,9,7] = RoundTo(%i) {to="f16"}
  return %y
})",
                                  find_op);
  EXPECT_THAT(kernels(graph), Contains("half_reals").Times(::testing::Ge(3)));
  expect_near(graph, 1e6f);  // the CPU's bits
}

// Softmax and normalizations read and write 16 bits, with a sum in front that nobody else reads, whatever the length of a row: the CPU's bits.
TEST_F(GpuHalves, Rows) {
  for (const int count : {48, 20}) {
    for (const char* type : {"f16", "bf16"}) {
      std::string text = "graph \"g\"(%x: f32[2,7,COUNT], %v: f32[2,7,COUNT]) {\n" +
                         weights("s", std::to_string(count).c_str(), count, 0.1f) + R"(
  %a: f32[2,7,COUNT] = RoundTo(%x) {to="TYPE"}
  %b: f32[2,7,COUNT] = RoundTo(%v) {to="TYPE"}
  %c: f32[2,7,COUNT] = Add(%a, %b)
  %d: f32[2,7,COUNT] = RoundTo(%c) {to="TYPE"}
  %e: f32[2,7,COUNT] = LayerNormalization(%d, %s, %s) {axis=-1, epsilon=1e-05}
  %f: f32[2,7,COUNT] = RoundTo(%e) {to="TYPE"}
  %g: f32[2,7,COUNT] = Softmax(%f) {axis=-1}
  %h: f32[2,7,COUNT] = RoundTo(%g) {to="TYPE"}
  %i: f32[2,7,COUNT] = Add(%h, %a)
  %j: f32[2,7,COUNT] = RoundTo(%i) {to="TYPE"}
  %k: f32[2,7,COUNT] = RMSNormalization(%j, %s) {axis=-1, epsilon=1e-05}
  %y: f32[2,7,COUNT] = RoundTo(%k) {to="TYPE"}
  return %y
})";
      for (size_t at = 0; (at = text.find("TYPE", at)) != text.npos;) text.replace(at, 4, type);
      for (size_t at = 0; (at = text.find("COUNT", at)) != text.npos;)
        text.replace(at, 5, std::to_string(count));
      const Graph graph = parse_graph(text, find_op);
      const std::vector<std::string> names = kernels(graph);
      EXPECT_THAT(names, Contains(HasSubstr(fmt::format("layer_norm_{}", type))));
      EXPECT_THAT(names, Contains(fmt::format("softmax_{}", type)));
      EXPECT_THAT(names, Contains(HasSubstr("rms_norm_f32")));
      EXPECT_THAT(names, Not(Contains(AnyOf("reals", "half_reals"))));
      expect_near(graph, 1e6f);
    }
  }
}

// A sum that others read too is a step of its own, and is read in 16 bits.
TEST_F(GpuHalves, RowsOfASumThatOthersRead) {
  const Graph graph = parse_graph(
      "graph \"g\"(%x: f32[2,7,48], %v: f32[2,7,48]) {\n" + weights("s", "48", 48, 0.1f) + R"(
  %a: f32[2,7,48] = RoundTo(%x) {to="f16"}
  %b: f32[2,7,48] = RoundTo(%v) {to="f16"}
  %c: f32[2,7,48] = Add(%a, %b)
  %d: f32[2,7,48] = RoundTo(%c) {to="f16"}
  %e: f32[2,7,48] = LayerNormalization(%d, %s, %s) {axis=-1, epsilon=1e-05}
  %f: f32[2,7,48] = RoundTo(%e) {to="f16"}
  %g: f32[2,7,48] = Add(%f, %d)
  %y: f32[2,7,48] = RoundTo(%g) {to="f16"}
  return %y
})",
      find_op);
  EXPECT_THAT(kernels(graph),
              AllOf(Contains(HasSubstr("layer_norm_f16")), Contains("half_reals").Times(2)));
  expect_near(graph, 1e6f);
}

// x as the residual too.
TEST_F(GpuHalves, OneValueAsBothOperands) {
  const Graph graph =
      parse_graph("graph \"g\"(%x: f32[2,16,9,7]) {\n" + weights("w", "16,16,1,1", 256) + R"(
  %a: f16[2,16,9,7] = Cast(%x) {to="f16"}
  %b: f32[2,16,9,7] = Cast(%a) {to="f32"}
  %c: f32[2,16,9,7] = Conv(%b, %w, _, %b)
  %y: f32[2,16,9,7] = RoundTo(%c) {to="f16"}
  return %y
})",
                  find_op);
  expect_near(graph, 500.0f);
}

// A depthwise convolution with what stands around it, as a plan's chains have it: %x of type `from`, %y of type `to`.
struct Depthwise {
  std::string from, to;
  int taps, stride, channels, height, width;
  bool residual = false;
  std::string activation = "";

  std::string shape(bool out) const {
    const auto size = [&](int in) { return out ? (in - 1) / stride + 1 : in; };
    return fmt::format("[2,{},{},{}]", channels, size(height), size(width));
  }
  // %v is the real of a value of that type.
  static std::string widened(const std::string& type, const std::string& shape, const char* x,
                             const char* v) {
    if (type == "f32")
      return fmt::format("%{}: f32{} = RoundTo(%{}) {{to=\"f16\"}}\n", v, shape, x);
    if (type == "u8" || type == "s8")
      return fmt::format(
          "%{0}d: f32{1} = DequantizeLinear(%{2}, %s, %{3}z)\n"
          "%{0}: f32{1} = RoundTo(%{0}d) {{to=\"f16\"}}\n",
          v, shape, x, type);
    return fmt::format("%{}: f32{} = Cast(%{}) {{to=\"f32\"}}\n", v, shape, x);
  }
  std::string text() const {
    const std::string half = from == "bf16" || to == "bf16" ? "bf16" : "f16";
    std::string text = fmt::format("graph \"g\"(%x: {}{}{}) {{\n", from, shape(false),
                                   residual ? fmt::format(", %a: {}{}", to, shape(true)) : "");
    text += weights("w", fmt::format("{},1,{},{}", channels, taps, taps).c_str(),
                    channels * taps * taps, 0.0997314453f);
    text += weights("b", fmt::format("{}", channels).c_str(), channels);
    text += "const %s: f32[] = {0.0157}\nconst %u8z: u8[] = {128}\nconst %s8z: s8[] = {3}\n";
    text += widened(from, shape(false), "x", "v");
    if (residual) text += widened(to, shape(true), "a", "r");
    const int pad = taps / 2;
    text += fmt::format(
        "%c: f32{} = Conv(%v, %w, %b{}) {{pads=ints[{}, {}, {}, {}], strides=ints[{}, {}], "
        "group={}{}}}\n",
        shape(true), residual ? ", %r" : "", pad, pad, pad, pad, stride, stride, channels,
        activation);
    if (to == "f32") return text + fmt::format("%y: f32{} = Relu(%c)\nreturn %y\n}}", shape(true));
    if (to == "u8" || to == "s8")
      return text + fmt::format(
                        "%h: f32{0} = RoundTo(%c) {{to=\"{1}\"}}\n"
                        "%y: {2}{0} = QuantizeLinear(%h, %s, %{2}z)\nreturn %y\n}}",
                        shape(true), half, to);
    return text +
           fmt::format("%y: {0}{1} = Cast(%c) {{to=\"{0}\"}}\nreturn %y\n}}", to, shape(true));
  }
};

// Codes, or reals of all bits between 1/4 and 8.
Tensor random_numbers(const TensorType& type, std::mt19937& random) {
  Tensor tensor(type.dtype, type.shape);
  std::byte* const to = tensor.mutable_data();
  const size_t width = dtype_bytes(type.dtype);
  for (size_t i = 0; i < tensor.bytes(); i += width) {
    const u32 size = static_cast<u32>(random()) % 5, bits = static_cast<u32>(random());
    const u32 real = type.dtype == Dtype::f16    ? (bits & 0x83FF) | (13 + size) << 10
                     : type.dtype == Dtype::bf16 ? (bits & 0x807F) | (125 + size) << 7
                     : type.dtype == Dtype::f32  ? (bits & 0x807FFFFF) | (125 + size) << 23
                                                 : bits >> 8;
    std::memcpy(to + i, &real, width);
  }
  return tensor;
}

TEST_F(GpuHalves, DepthwiseConvolutionsHaveTheReferencesBits) {
  const std::string relu6 = ", activation=\"clip\", activation_min=0.0, activation_max=6.0";
  const std::string leaky = ", activation=\"leaky_relu\", activation_alpha=0.1";
  const Depthwise kCases[] = {{"f16", "f16", 3, 1, 4, 9, 13, false, relu6},
                              {"f16", "f16", 3, 2, 8, 10, 11, true},
                              {"bf16", "bf16", 3, 1, 8, 5, 9, true, relu6},
                              {"u8", "s8", 3, 1, 8, 9, 7},
                              {"s8", "f16", 5, 2, 6, 9, 7, false, leaky},
                              {"f16", "u8", 5, 1, 4, 7, 11},
                              {"f16", "f32", 7, 1, 3, 9, 8}};
  std::mt19937 random(3);
  for (const Depthwise& c : kCases) {
    const std::string what =
        fmt::format("{} to {}, {}x{}, stride {}", c.from, c.to, c.taps, c.taps, c.stride);
    const Graph graph = parse_graph(c.text(), find_op);
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs)
      inputs.push_back(random_numbers(graph.value(id).type, random));
    const std::vector<std::string> names = kernels(graph);
    EXPECT_THAT(names, Contains(HasSubstr("depthwise_real_"))) << what;
    for (const char* border : {"cast", "dequantize", "quantize"})
      EXPECT_THAT(names, Not(Contains(border))) << what;
    const Tensor want = interpret(graph, inputs)[0];
    if (&c != kCases) {
      const Tensor got = run_on(graph, inputs, target())[0];
      EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << what;
      continue;
    }
    std::vector<std::string> every;
    expect_bytes(graph, depthwise_node(graph), inputs, {{want}, what}, every);
    EXPECT_GT(every.size(), 3U);
  }
}

// Pools, moves, means and functions between depthwise convolutions: all in 16 bits, with the reference's bits; what is on the grid is not rounded again.
TEST_F(GpuHalves, PoolsMovesAndMeansTakeThem) {
  for (const char* type : {"f16", "bf16"}) {
    std::string text = "graph \"g\"(%x: f32[2,8,9,11]) {\n" +
                       weights("w", "8,1,3,3", 72, 0.0997314453f) +
                       weights("v", "24,1,3,3", 216, 0.0997314453f) + R"(
  const %z: f32[4] = {1.0, 1.0, 2.0, 2.0}
  %r: f32[2,8,9,11] = RoundTo(%x) {to="TYPE"}
  %c: f32[2,8,9,11] = Conv(%r, %w) {pads=ints[1, 1, 1, 1], group=8}
  %cr: f32[2,8,9,11] = RoundTo(%c) {to="TYPE"}
  %m: f32[2,8,5,6] = MaxPool(%cr) {kernel_shape=ints[3, 3], strides=ints[2, 2], pads=ints[1, 1, 1, 1]}
  %a: f32[2,8,5,6] = AveragePool(%cr) {kernel_shape=ints[3, 3], strides=ints[2, 2], pads=ints[1, 1, 1, 1]}
  %ar: f32[2,8,5,6] = RoundTo(%a) {to="TYPE"}
  %s: f32[2,8,5,6] = Sigmoid(%ar)
  %sr: f32[2,8,5,6] = RoundTo(%s) {to="TYPE"}
  %k: f32[2,24,5,6] = Concat(%m, %ar, %sr) {axis=1}
  %u: f32[2,24,10,12] = Resize(%k, _, %z) {mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"}
  %ur: f32[2,24,10,12] = RoundTo(%u) {to="TYPE"}
  %d: f32[2,24,10,12] = Conv(%ur, %v) {pads=ints[1, 1, 1, 1], group=24}
  %dr: f32[2,24,10,12] = RoundTo(%d) {to="TYPE"}
  %p: f32[2,24,1,1] = ReduceMean(%dr) {keepdims=1}
  %pr: f32[2,24,1,1] = RoundTo(%p) {to="TYPE"}
  %q: f32[2,24,10,12] = Mul(%pr, %dr)
  %y: f32[2,24,10,12] = RoundTo(%q) {to="TYPE"}
  return %y
})";
    for (size_t at = 0; (at = text.find("TYPE", at)) != text.npos;) text.replace(at, 4, type);
    const size_t mean = text.find("ReduceMean(%dr)");
    text.replace(mean, 15, "ReduceMean(%dr, %axes)");
    text.insert(text.find("  const %z"), "  const %axes: s64[2] = {2, 3}\n");
    const Graph graph = parse_graph(text, find_op);
    const std::vector<std::string> names = kernels(graph);
    EXPECT_THAT(names, Not(Contains("reals"))) << type;
    EXPECT_THAT(names, Contains("cast").Times(1)) << type;  // of the graph's input
    EXPECT_THAT(names, Contains(HasSubstr("depthwise_real_")).Times(2)) << type;
    for (const char* kernel : {"max_pool", "average_pool", "resize_nearest", "reduce_reals"})
      EXPECT_THAT(names, Contains(kernel)) << type;
    std::mt19937 random(5);
    const std::vector<Tensor> inputs{random_numbers(graph.value(graph.inputs[0]).type, random)};
    const Tensor want = interpret(graph, inputs)[0], got = run_on(graph, inputs, target())[0];
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << type;
  }
}

// A value that something else reads stays as wide as it is.
TEST_F(GpuHalves, WhatAnotherLayerReadsStaysReal) {
  const Graph graph =
      parse_graph("graph \"g\"(%x: f32[2,8,9,7]) {\n" + weights("w", "16,8,3,3", 1152) + R"(
  %r: f32[2,8,9,7] = RoundTo(%x) {to="f16"}
  %c: f32[2,16,9,7] = Conv(%r, %w) {pads=ints[1, 1, 1, 1]}
  %cr: f32[2,16,9,7] = RoundTo(%c) {to="f16"}
  %m: f32[2,16,9,7] = Softmax(%cr) {axis=1}
  return %m
})",
                  find_op);
  EXPECT_THAT(kernels(graph), AllOf(Contains(is_product_of("f16")), Each(Not("half_reals"))));
  expect_near(graph, 500.0f);
}

}  // namespace
}  // namespace octet::test
