// SPDX-License-Identifier: Apache-2.0
// What stands beside products of 16 bits on a GPU: depthwise convolutions, pools, moves, means and functions read and write 16 bits and codes, with the reference's bits but where a function is close.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "half_depthwise.h"
#include "half_plans.h"

namespace octet::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class GpuHalfNeighbors : public HalfPlans {
 protected:
  // The first such node of the plan's graph.
  size_t depthwise_node(const Graph& graph) const {
    const Plan plan = plan_of(graph, target());
    for (const PlanStep& step : plan.steps) {
      if (step.candidate.kernel.starts_with("depthwise_real")) return step.node;
    }
    return plan.graph.nodes.size();
  }
};

TEST_F(GpuHalfNeighbors, DepthwiseConvolutionsHaveTheReferencesBits) {
  const DearChains whatever_they_cost;  // of images as small as these
  const std::string relu6 = ", activation=\"clip\", activation_min=0.0, activation_max=6.0";
  const std::string leaky = ", activation=\"leaky_relu\", activation_alpha=0.1";
  const Depthwise kCases[] = {{"f16", "f16", 3, 1, 4, 9, 13, false, relu6},
                              {"f16", "f16", 3, 2, 8, 10, 11, true},
                              {"bf16", "bf16", 3, 1, 8, 5, 9, true, relu6},
                              {"u8", "s8", 3, 1, 8, 9, 7, true},
                              {"f16", "u8", 3, 1, 8, 5, 9, true},
                              {"s8", "f16", 5, 2, 6, 9, 7, false, leaky},
                              {"f16", "u8", 5, 1, 4, 7, 11},
                              {"f16", "f16", 3, 1, 4, 5, 7, true, "", "Swish"},
                              {"bf16", "bf16", 3, 1, 4, 5, 7, false, "", "Gelu"},
                              {"u8", "u8", 3, 1, 4, 5, 7, false, relu6, "HardSwish"},
                              {"f16", "f16", 3, 1, 4, 5, 7, true, "", "Swish", true},
                              {"u8", "s8", 3, 2, 4, 5, 7, true, leaky, "Mish", true},
                              {"f16", "f16", 3, 1, 4, 5, 7, true, relu6, "", true},
                              {"bf16", "u8", 3, 1, 4, 5, 7, true, "", "", true},
                              {"f16", "f32", 7, 1, 3, 9, 8}};
  const auto dilated = [](Depthwise c, int dilation) {
    c.dilation = dilation;
    return c;
  };
  std::vector<Depthwise> cases(std::begin(kCases), std::end(kCases));
  cases.push_back(dilated({"f16", "f16", 5, 1, 8, 11, 13, true, relu6}, 2));
  cases.push_back(dilated({"u8", "s8", 3, 1, 4, 9, 7, true}, 3));
  cases.push_back(
      dilated({"bf16", "bf16", 3, 2, 4, 10, 11}, 2));  // every pixel of every second one
  cases.push_back(dilated({"f16", "u8", 3, 2, 4, 11, 14}, 3));
  cases.push_back(dilated({"f16", "f16", 3, 1, 2, 5, 7}, 6));  // no two taps meet the image at once
  cases.push_back(dilated({"f16", "f16", 3, 1, 2, 5, 7}, 1 << 20));
  std::mt19937 random(3);
  for (const Depthwise& c : cases) {
    const std::string what = fmt::format("{} to {}, {}x{}, stride {}, dilation {}", c.from, c.to,
                                         c.taps, c.taps, c.stride, c.dilation);
    const Graph graph = parse_graph(c.text(), find_op);
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs)
      inputs.push_back(random_numbers(graph.value(id).type, random));
    const std::vector<std::string> names = kernels(graph);
    EXPECT_THAT(names, Contains(HasSubstr("depthwise_real_"))) << what;
    for (const char* border : {"cast", "dequantize", "quantize"})
      EXPECT_THAT(names, Not(Contains(border))) << what;
    if (c.is_close()) {
      expect_near(graph, inputs, c.to == "f16" ? 500.0f : 60.0f);
      continue;
    }
    if (&c != cases.data() && c.dilation != 2) {
      expect_bits(graph, inputs, what);
      continue;
    }
    std::vector<std::string> every;
    expect_bytes(graph, depthwise_node(graph), inputs, {interpret(graph, inputs), what}, every);
    EXPECT_GT(every.size(), 3U);
  }
}

// A function of one value is the end of the product in front of it, whose result is rounded first.
TEST_F(GpuHalfNeighbors, FunctionsAreTheEndsOfProducts) {
  const DearChains whatever_they_cost;
  for (const char* function :
       {"Swish(%cr)", "Sigmoid(%cr)", "Gelu(%cr)", "Gelu(%cr) {approximate=\"tanh\"}", "Tanh(%cr)",
        "Mish(%cr)", "HardSigmoid(%cr)"}) {
    const Graph graph =
        parse_graph("graph \"g\"(%x: f32[2,8,9,7]) {\n" + weights("w", "16,8,3,3", 1152) +
                        weights("v", "16,16,1,1", 256) +
                        fmt::format(R"(
  %r: f32[2,8,9,7] = RoundTo(%x) {{to="f16"}}
  %c: f32[2,16,9,7] = Conv(%r, %w) {{pads=ints[1, 1, 1, 1]}}
  %cr: f32[2,16,9,7] = RoundTo(%c) {{to="f16"}}
  %f: f32[2,16,9,7] = {}
  %fr: f32[2,16,9,7] = RoundTo(%f) {{to="f16"}}
  %y: f32[2,16,9,7] = Conv(%fr, %v)
  return %y
}})",
                                    function),
                    find_op);
    EXPECT_THAT(kernels(graph), Not(Contains("half_reals"))) << function;
    expect_near(graph, random_inputs(graph, 3), 200.0f);
  }
}

// A value of 16 bits that is codes for one reader and real for others is read by a normalization to codes, and rounded to codes, as it lies.
TEST_F(GpuHalfNeighbors, CodesOfHalvesThatOthersRead) {
  const DearChains whatever_they_cost;
  for (const char* type : {"f16", "bf16"}) {
    const auto graph_of = [&](const char* output) {
      std::string text = R"(graph "g"(%x: f32[6,64], %a: f32[6,64]) {
  const %g: f32[64] = {GAIN}
  const %s: f32[] = {0.0157}
  const %z: s8[] = {3}
  %b: f32[6,64] = Add(%x, %a)
  %r: f32[6,64] = RoundTo(%b) {to="TYPE"}
  %n: u8[6,64] @(0.03125, 128) = QLayerNormalization(%r, %g, %g) {axis=-1, epsilon=0.001, hi=255, input_zero_points=ints[0], lo=0, output_dtype="u8", output_zero_point=128, scales=floats[1.0, 0.03125]}
  %q: s8[6,64] = QuantizeLinear(%r, %s, %z)
  %r1: f32[6,64] = Sigmoid(%x)
  %r2: f32[6,64] = RoundTo(%r1) {to="TYPE"}
  %t: f32[6,64] = Add(%r, %r2)
  %t2: f32[6,64] = RoundTo(%t) {to="TYPE"}
  %p: f32[6,64] = Softmax(%t2) {axis=-1}
  return %OUTPUT
})";
      std::string gains;
      for (int i = 0; i < 64; ++i) gains += fmt::format("{}{}", i == 0 ? "" : ", ", 0.5 + i / 64.0);
      const auto put = [&](const std::string& word, const std::string& by) {
        for (size_t at = 0; (at = text.find(word, at)) != text.npos; at += by.size())
          text.replace(at, word.size(), by);
      };
      put("GAIN", gains);
      put("TYPE", type);
      put("OUTPUT", output);
      return parse_graph(text, find_op);
    };
    for (const char* output : {"n, %q, %p", "q, %n, %p", "p, %q, %n"}) {
      const Graph graph = graph_of(output);
      const std::vector<Tensor> inputs = random_inputs(graph, 5);
      const std::vector<std::string> names = kernels(graph);
      EXPECT_THAT(names, Contains("quantize_halves")) << type;
      EXPECT_THAT(names, Not(Contains("quantize"))) << type;
      EXPECT_THAT(names, Not(Contains("cast"))) << type;
      expect_bits(graph, inputs, fmt::format("{}: {}", type, output));
    }
  }
}

// Tiles of pairs: sizes around a tile's, rows that are no multiple of an access, and casts on the way into an image's layout and out of it.
TEST_F(GpuHalfNeighbors, TransposesOf16Bits) {
  std::mt19937 random(7);
  for (const auto& [rows, columns] :
       {std::pair{68, 130}, std::pair{33, 40}, std::pair{70, 65}, std::pair{5, 7}}) {
    const Graph graph = parse_graph(
        fmt::format("graph \"g\"(%x: f16[2,{0},{1}]) {{\n  %y: f16[2,{1},{0}] = Transpose(%x) "
                    "{{perm=ints[0, 2, 1]}}\n  return %y\n}}",
                    rows, columns),
        find_op);
    const std::vector<Tensor> inputs{random_numbers(graph.value(graph.inputs[0]).type, random)};
    expect_bits(graph, inputs, fmt::format("{} x {}", rows, columns));
  }
  for (const s64 channels : {24, 37}) {
    const std::string shape = fmt::format("[2,{},9,11]", channels);
    const Graph graph = parse_graph(
        fmt::format("graph \"g\"(%x: f32{0}) {{\n  {1}  %h: f16{0} = Cast(%x) {{to=\"f16\"}}\n"
                    "  %i: f32{0} = Cast(%h) {{to=\"f32\"}}\n"
                    "  %c: f32{0} = Conv(%i, %w) {{group={2}, pads=ints[1, 1, 1, 1]}}\n"
                    "  %y: f16{0} = Cast(%c) {{to=\"f16\"}}\n  return %y\n}}",
                    shape,
                    weights("w", fmt::format("{},1,3,3", channels), static_cast<int>(channels * 9)),
                    channels),
        find_op);
    const std::vector<Tensor> inputs{random_numbers(graph.value(graph.inputs[0]).type, random)};
    expect_bits(graph, inputs, shape);
  }
}

// What is added to a function's reals is the end of that product as well, whichever operand it is, and in whatever type it lies.
TEST_F(GpuHalfNeighbors, ResidualsBehindFunctionsAreTheEndsOfProducts) {
  const DearChains whatever_they_cost;
  for (const char* type : {"f16", "f32"}) {
    for (const char* sum : {"Add({0}, {1})", "Add({1}, {0})"}) {
      const bool half = type == std::string("f16");
      std::string text = "graph \"g\"(%x: f32[2,16,9,7]) {\n" + weights("w", "16,16,3,3", 2304) +
                         weights("u", "16,16,1,1", 256) + weights("v", "16,16,1,1", 256);
      // A value's name once it is rounded.
      const auto add = [&](const std::string& name, const std::string& node) {
        text += fmt::format("  %{}: f32[2,16,9,7] = {}\n", name, node);
        if (!half) return "%" + name;
        text += fmt::format("  %{0}r: f32[2,16,9,7] = RoundTo(%{0}) {{to=\"f16\"}}\n", name);
        return "%" + name + "r";
      };
      const std::string a = add("a", "Conv(%x, %u)");
      const std::string c = add("c", fmt::format("Conv({}, %w) {{pads=ints[1, 1, 1, 1]}}", a));
      const std::string f = add("f", fmt::format("Swish({})", c));
      const std::string s = add("s", fmt::format(fmt::runtime(sum), a, f));
      const Graph graph = parse_graph(
          text + fmt::format("  %y: f32[2,16,9,7] = Conv({}, %v)\n  return %y\n}}", s), find_op);
      const std::vector<std::string> names = kernels(graph);
      // Turing has tensor cores for f16 alone, and products of f32 are terms of bf16.
      if (type == std::string("f16") || multiplies(*device_, "bf16")) {
        EXPECT_THAT(names, AllOf(Not(Contains("half_reals")), Not(Contains("reals"))))
            << type << ": " << sum;
      }
      expect_near(graph, random_inputs(graph, 3), half ? 200.0f : 100000.0f);
    }
  }
}

// So is what is added to the product's own reals once they are rounded, as in a transformer's stream, which a normalization and the next sum read.
TEST_F(GpuHalfNeighbors, ResidualsBehindRoundedProductsAreTheirEnds) {
  const DearChains whatever_they_cost;
  for (const char* type : {"f16", "bf16"}) {
    for (const char* sum : {"Add({0}, {1})", "Add({1}, {0})"}) {
      std::string text = "graph \"g\"(%x: f32[2,1,9,16]) {\n" + weights("w", "16,32", 512) +
                         weights("u", "32,16", 512) + weights("v", "16,16", 256);
      const auto add = [&](const std::string& name, s64 width, const std::string& node) {
        text += fmt::format(
            "  %{0}: f32[2,1,9,{2}] = {1}\n  %{0}r: f32[2,1,9,{2}] = RoundTo(%{0}) "
            "{{to=\"{3}\"}}\n",
            name, node, width, type);
        return "%" + name + "r";
      };
      const std::string a = add("a", 16, "MatMul(%x, %v)");
      const std::string b = add("b", 32, fmt::format("MatMul({}, %w)", a));
      const std::string c = add("c", 16, fmt::format("MatMul({}, %u)", b));
      const std::string s = add("s", 16, fmt::format(fmt::runtime(sum), a, c));
      const std::string d = add("d", 32, fmt::format("MatMul({}, %w)", s));
      const std::string e = add("e", 16, fmt::format("MatMul({}, %u)", d));
      const std::string t = add("t", 16, fmt::format(fmt::runtime(sum), s, e));
      const Graph graph = parse_graph(
          text + fmt::format("  %y: f32[2,1,9,16] = MatMul({}, %v)\n  return %y\n}}", t), find_op);
      const std::vector<std::string> names = kernels(graph);
      // Turing has tensor cores for f16 alone, and products of f32 are terms of bf16.
      if (type == std::string("f16") || multiplies(*device_, "bf16")) {
        EXPECT_THAT(names, AllOf(Not(Contains("half_reals")), Not(Contains("reals"))))
            << type << ": " << sum;
      }
      expect_near(graph, random_inputs(graph, 3), type == std::string("f16") ? 200.0f : 25.0f);
    }
  }
}

// A residual that lies in codes, of a dense product.
TEST_F(GpuHalfNeighbors, ResidualsOfCodes) {
  const DearChains whatever_they_cost;
  for (const char* type : {"u8", "s8"}) {
    std::string text = "graph \"g\"(%x: f32[2,8,9,7], %a: TYPE[2,16,9,7]) {\n" +
                       weights("w", "16,8,3,3", 1152) + R"(
  const %s: f32[] = {0.0157}
  const %z: TYPE[] = {100}
  %r: f32[2,8,9,7] = RoundTo(%x) {to="f16"}
  %d: f32[2,16,9,7] = DequantizeLinear(%a, %s, %z)
  %dr: f32[2,16,9,7] = RoundTo(%d) {to="f16"}
  %c: f32[2,16,9,7] = Conv(%r, %w, _, %dr) {pads=ints[1, 1, 1, 1], activation="relu"}
  %y: f32[2,16,9,7] = RoundTo(%c) {to="f16"}
  return %y
})";
    for (size_t at = 0; (at = text.find("TYPE", at)) != text.npos;) text.replace(at, 4, type);
    const Graph graph = parse_graph(text, find_op);
    EXPECT_THAT(kernels(graph), Not(Contains("dequantize"))) << type;
    expect_near(graph, random_inputs(graph, 3), 500.0f);
  }
}

// A function between codes and 16 bits, in either direction, and a sum of both.
TEST_F(GpuHalfNeighbors, FunctionsOfCodes) {
  std::string text = "graph \"g\"(%a: u8[2,8,5,7], %b: s8[2,8,5,7], %c: u8[2,8,5,7]) {\n" +
                     weights("w", "8,1,3,3", 72, 0.0997314453f) + R"(
  const %s: f32[] = {0.0157}
  const %z: u8[] = {100}
  const %t: f32[] = {0.031}
  const %v: s8[] = {3}
  %d: f32[2,8,5,7] = DequantizeLinear(%a, %s, %z)
  %dr: f32[2,8,5,7] = RoundTo(%d) {to="f16"}
  %e: f32[2,8,5,7] = DequantizeLinear(%b, %t, %v)
  %er: f32[2,8,5,7] = RoundTo(%e) {to="f16"}
  %f: f32[2,8,5,7] = Add(%dr, %er)
  %fr: f32[2,8,5,7] = RoundTo(%f) {to="f16"}
  %g: f32[2,8,5,7] = Conv(%fr, %w) {pads=ints[1, 1, 1, 1], group=8}
  %gr: f32[2,8,5,7] = RoundTo(%g) {to="f16"}
  %h: f32[2,8,5,7] = DequantizeLinear(%c, %s, %z)
  %i: f32[2,8,5,7] = Sigmoid(%h)
  %ir: f32[2,8,5,7] = RoundTo(%i) {to="f16"}
  %j: f32[2,8,5,7] = Mul(%gr, %ir)
  %jr: f32[2,8,5,7] = RoundTo(%j) {to="f16"}
  %y: s8[2,8,5,7] = QuantizeLinear(%jr, %t, %v)
  return %y
})";
  const Graph graph = parse_graph(text, find_op);
  const std::vector<std::string> names = kernels(graph);
  EXPECT_THAT(names, Contains("half_reals").Times(3));
  for (const char* border : {"cast", "dequantize", "quantize", "reals"})
    EXPECT_THAT(names, Not(Contains(border)));
  std::mt19937 random(7);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back(random_numbers(graph.value(id).type, random));
  expect_bits(graph, inputs, "codes");
}

// Pools, moves, means and functions between depthwise convolutions: all in 16 bits, with the reference's bits; what is on the grid is not rounded again.
TEST_F(GpuHalfNeighbors, PoolsMovesAndMeansTakeThem) {
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
    expect_bits(graph, random_inputs(graph, 5), type);
  }
}

}  // namespace
}  // namespace octet::test
