// SPDX-License-Identifier: Apache-2.0
// Layers of 16 bits on a GPU: products, functions and depthwise convolutions with their casts as one kernel each, values stored in 16 bits, and layers between codes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "half_text.h"
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
    return kernel_names(plan_of(graph, target()));
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
    EXPECT_THAT(names, Contains("half_reals"));  // two read what it reads
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

// A product of codes stores what such a layer reads, with the CPU's bits.
TEST_F(GpuHalves, AProductOfCodesStores16Bits) {
  for (const char* type : {"f16", "bf16"}) {
    for (const int channels : {16, 40, 21}) {
      std::mt19937 random(5);
      std::string w, m;
      for (int i = 0; i < channels * 32; ++i)
        w += fmt::format("{}{}", i > 0 ? ", " : "", static_cast<int>(random() % 255) - 127);
      for (int i = 0; i < channels; ++i)
        m += fmt::format("{}{}", i > 0 ? ", " : "", 0.001f * static_cast<f32>(random() % 97 + 1));
      const Graph graph = parse_graph(
          fmt::format(R"(graph "g"(%x: u8[2,32,12,10]) {{
  const %w: s8[{0},32,1,1] = {{{1}}}
  const %b: s32[{0}] = {{{2}}}
  const %m: f32[{0}] = {{{3}}}
  %c: f32[2,{0},12,10] = QConv(%x, %w, %b, %m) {{input_zero_points=ints[117, 0, 0, 0], output_dtype="f32", activation="relu"}}
  %y: {4}[2,{0},12,10] = Cast(%c) {{to="{4}"}}
  return %y
}})",
                      channels, w,
                      fmt::join(std::vector<int>(static_cast<size_t>(channels), 77), ", "), m,
                      type),
          find_op);
      Tensor x(Dtype::u8, {2, 32, 12, 10});
      for (u8& code : x.mutable_as<u8>()) code = static_cast<u8>(random());
      const std::vector<Tensor> inputs{x};
      const Tensor want = run_on(graph, inputs, make_target("cpu", 1, nullptr))[0];
      const auto expect_want = [&](const std::string& kernel, const std::vector<Tensor>& got) {
        for (size_t i = 0; i < want.bytes(); ++i)
          ASSERT_EQ(got[0].data()[i], want.data()[i]) << kernel << " " << channels << " " << i;
      };
      const s64 count = for_each_kernel(graph, inputs, "halved_", 2, expect_want);
      expect_want("as planned", run_on(graph, inputs, target()));
      std::string why;
      EXPECT_EQ(count > 0, hopper(why) != nullptr) << channels;
      EXPECT_EQ(::testing::Value(kernels(graph), Contains(HasSubstr("halved_"))), count > 0);
    }
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

// A normalization that a layer reads as codes and another as 16 bits stores both: the bytes of the definition, also where a value is on the edge of two codes or is none.
TEST_F(GpuHalves, RowsAsReadAndAsCodes) {
  for (const int count : {48, 96, 20}) {
    for (const auto& [type, code, zero] :
         {std::tuple{"f16", "s8", "0"}, {"bf16", "u8", "131"}, {"f16", "u8", "7"}}) {
      std::string text = "graph \"g\"(%x: f32[5,7,COUNT], %v: f32[5,7,COUNT]) {\n" +
                         weights("s", std::to_string(count).c_str(), count, 0.1f) + R"(
  const %q: f32[] = {0.0078125}
  const %z: CODE[] = {ZERO}
  %a: f32[5,7,COUNT] = RoundTo(%x) {to="TYPE"}
  %b: f32[5,7,COUNT] = RoundTo(%v) {to="TYPE"}
  %c: f32[5,7,COUNT] = Add(%a, %b)
  %d: f32[5,7,COUNT] = RoundTo(%c) {to="TYPE"}
  %e: f32[5,7,COUNT] = NORM
  %f: f32[5,7,COUNT] = RoundTo(%e) {to="TYPE"}
  %g: CODE[5,7,COUNT] = QuantizeLinear(%f, %q, %z)
  %h: f32[5,7,COUNT] = Add(%f, %a)
  %y: f32[5,7,COUNT] = RoundTo(%h) {to="TYPE"}
  return %y, %g
})";
      const bool centered = *type == 'f';
      const auto set = [&](std::string_view word, const std::string& by) {
        for (size_t at = 0; (at = text.find(word, at)) != text.npos;)
          text.replace(at, word.size(), by);
      };
      set("NORM", centered ? "LayerNormalization(%d, %s, %s) {axis=-1, epsilon=1e-05}"
                           : "RMSNormalization(%d, %s) {axis=-1, epsilon=1e-05}");
      set("TYPE", type), set("CODE", code), set("ZERO", zero), set("COUNT", std::to_string(count));
      const Graph graph = parse_graph(text, find_op);
      const std::vector<std::string> names = kernels(graph);
      EXPECT_THAT(names,
                  Contains(HasSubstr(fmt::format("{}_norm_{}", centered ? "layer" : "rms", type)))
                      .Times(1));
      EXPECT_THAT(names, Contains(HasSubstr("_codes")).Times(1));
      EXPECT_THAT(names, Not(Contains("quantize_halves")));
      std::mt19937 random(3);
      std::vector<Tensor> inputs;
      for (const ValueId id : graph.inputs) {
        inputs.emplace_back(graph.value(id).type.dtype, graph.value(id).type.shape);
        for (f32& x : inputs.back().mutable_as<f32>())
          x = static_cast<f32>(random() % 2000) / 500.0f - 2.0f;
      }
      inputs[0].mutable_as<f32>()[3] = std::numeric_limits<f32>::infinity();
      const std::vector<Tensor> want = interpret(graph, inputs),
                                got = run_on(graph, inputs, target());
      EXPECT_EQ(std::memcmp(got[1].data(), want[1].data(), want[1].bytes()), 0) << text;
      for (size_t i = 0; i < want[0].as<f32>().size(); ++i) {
        const f32 y = got[0].as<f32>()[i], wanted = want[0].as<f32>()[i];
        ASSERT_TRUE(y == wanted || (std::isnan(y) && std::isnan(wanted))) << i << ": " << text;
      }
    }
  }
}

// What only moves between a rounding and layers that read 16 bits moves 16 bits.
TEST_F(GpuHalves, Moves) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[2,6,10]) {
  const %first: s64[1] = {1}
  const %end: s64[1] = {9}
  const %axis: s64[1] = {2}
  const %parts: s64[2] = {3, 5}
  %r: f32[2,6,10] = RoundTo(%x) {to="f16"}
  %t: f32[2,10,6] = Transpose(%r) {perm=ints[0, 2, 1]}
  %n: f32[2,10,6] = Neg(%t)
  %nr: f32[2,10,6] = RoundTo(%n) {to="f16"}
  %u: f32[2,6,10] = Transpose(%nr) {perm=ints[0, 2, 1]}
  %s: f32[2,6,8] = Slice(%u, %first, %end, %axis)
  %a: f32[2,6,3], %b: f32[2,6,5] = Split(%s, %parts) {axis=2}
  %c: f32[2,6,3] = Sigmoid(%a)
  %d: f32[2,6,5] = Abs(%b)
  %y: f32[2,6,8] = Concat(%c, %d) {axis=2}
  return %y
})",
                                  find_op);
  std::vector<Dtype> moved;
  const Plan plan = make_plan(graph, std::vector<Shape>{{2, 6, 10}}, target());
  for (const Node& node : plan.graph.nodes) {
    const std::string_view op = node.op->name;
    if (op == "Transpose" || op == "Slice" || op == "Split")
      moved.push_back(plan.graph.value(node.outputs[0]).type.dtype);
  }
  EXPECT_THAT(moved, AllOf(::testing::SizeIs(4), Each(Dtype::f16)));
  expect_near(graph, 1e6f);
}

// Codes that become 16 bits for several layers are stored in 16 bits once, by one kernel, and read by both.
TEST_F(GpuHalves, CodesBecomeHalves) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[2,8,9,7]) {
  const %s: f32[] = {0.0157}
  const %z: u8[] = {128}
  %q: u8[2,8,9,7] = QuantizeLinear(%x, %s, %z)
  %a: f32[2,8,9,7] = DequantizeLinear(%q, %s, %z)
  %b: f32[2,8,9,7] = RoundTo(%a) {to="f16"}
  %c: f32[2,8,9,7] = Sigmoid(%b)
  %d: f32[2,8,9,7] = RoundTo(%c) {to="f16"}
  %e: f32[2,8,9,7] = Mul(%b, %d)
  %y: f32[2,8,9,7] = RoundTo(%e) {to="f16"}
  return %y
})",
                                  find_op);
  EXPECT_THAT(kernels(graph),
              AllOf(Contains("half_reals").Times(2), Contains("halves_of_codes").Times(1),
                    Not(Contains("cast")), Not(Contains("dequantize"))));
  expect_near(graph, 1e6f);
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

// Numbers of 16 bits that lie in f32, since something else reads what they were joined to: one product of each, not three.
TEST_F(GpuHalves, PartsOnTheGridThatSomethingElseReads) {
  const Graph graph = parse_graph(
      "graph \"g\"(%x: f32[2,8,9,7], %v: f32[2,4,9,7]) {\n" + weights("w", "16,20,3,3", 2880) + R"(
  const %i: s64[] = {3}
  %a: f32[2,8,9,7] = RoundTo(%x) {to="f16"}
  %b: f32[2,4,9,7] = RoundTo(%v) {to="f16"}
  %c: f32[2,12,9,7] = Concat(%a, %b) {axis=1}
  %d: f32[2,20,9,7] = Concat(%c, %a) {axis=1}
  %e: f32[2,16,9,7] = Conv(%d, %w) {pads=ints[1, 1, 1, 1]}
  %y: f32[2,16,9,7] = RoundTo(%e) {to="f16"}
  %z: f32[2,20,9,7] = CumSum(%d, %i)
  return %y, %z
})",
      find_op);
  EXPECT_THAT(kernels(graph), Contains(HasSubstr("f16_terms1_")));
  expect_near(graph, 500.0f);
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
