// SPDX-License-Identifier: Apache-2.0
// Equalization of channels: where it reaches, where it stops, and that the real model keeps its bits.
#include "precision/equalize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/text.h"
#include "graph/verify.h"
#include "ops/registry.h"
#include "precision/precision.h"

namespace octet {
namespace {

using Facts = std::unordered_map<ValueId, ChannelFacts>;

ChannelFacts facts(const std::vector<f64>& widths) {
  ChannelFacts seen;
  for (const f64 width : widths) {
    seen.power.push_back(width * width / 3);
    seen.min.push_back(-width);
    seen.max.push_back(width);
  }
  return seen;
}

// The exponents of the value when channels of some values have these widths.
struct Case {
  Graph graph;
  Facts seen;

  explicit Case(const std::string& text) : graph(parse_graph(text, find_op)) {}
  Case& with(const char* name, const std::vector<f64>& widths) {
    seen[graph.find_value(name)] = facts(widths);
    return *this;
  }
  std::vector<int> exponents(const char* name) const {
    const ChannelExponents all = choose_exponents(graph, seen, {});
    const auto at = all.find(graph.find_value(name));
    if (at == all.end()) return {};
    return {at->second.begin(), at->second.end()};
  }
};

using Exponents = std::vector<int>;

std::string between(const std::string& nodes, const std::string& more = "") {
  return R"(graph "g"(%x: f32[1,2,4,4]) {
  const %w: f32[2,2,1,1] = {1, -2, 0.5, 3}
  const %d: f32[2,1,1,1] = {1, 3}
)" + more +
         "  %a: f32[1,2,4,4] = Conv(%x, %w) name \"a\"\n" + nodes + "  return %y\n}";
}

TEST(Equalize, BeforeADepthwiseConvolutionChannelsBecomeEqual) {
  for (const char* op : {"Relu(%a)", "LeakyRelu(%a) {alpha=0.1}", "Identity(%a)", "Abs(%a)"}) {
    Case c(between("  %b: f32[1,2,4,4] = " + std::string(op) +
                   " name \"b\"\n  %y: f32[1,2,4,4] = Conv(%b, %d) {group=2} name \"y\"\n"));
    c.with("b", {8, 0.9}).with("y", {8, 2.7});
    EXPECT_EQ(c.exponents("b"), (Exponents{0, 3})) << op;
    EXPECT_EQ(c.exponents("a"), (Exponents{0, 3})) << op;
  }
}

TEST(Equalize, NothingPassesAFunctionThatIsNotHomogeneous) {
  for (const char* op : {"Sigmoid(%a)", "HardSwish(%a)", "Swish(%a)", "Clip(%a, %zero, %six)"}) {
    Case c(between("  %b: f32[1,2,4,4] = " + std::string(op) +
                       " name \"b\"\n  %y: f32[1,2,4,4] = Conv(%b, %d) {group=2} name \"y\"\n",
                   "  const %zero: f32[] = {0}\n  const %six: f32[] = {6}\n"));
    c.with("a", {8, 0.9}).with("b", {8, 0.9}).with("y", {8, 2.7});
    EXPECT_EQ(c.exponents("a"), Exponents{}) << op;
    EXPECT_EQ(c.exponents("b"), Exponents{}) << op;
  }
}

// 2 * 1.2 channels are 2, and not the same ones.
TEST(Equalize, ResizingPassesWhereItLeavesChannelsAlone) {
  const auto made = [](const std::string& resize) {
    return Case(between("  %b: f32[1,2,8,8] = " + resize + R"( name "b"
  %y: f32[1,2,8,8] = Conv(%b, %d) {group=2} name "y"
)",
                        R"(  const %double: f32[4] = {1, 1, 2, 2}
  const %shifts: f32[4] = {1, 1.2, 2, 2}
  const %sizes: s64[4] = {1, 2, 8, 8}
  const %pixels: s64[2] = {8, 8}
)"))
        .with("b", {8, 0.9})
        .with("y", {8, 2.7});
  };
  for (const std::string passes :
       {"Resize(%a, _, %double)", "Interpolate(%a, _, %double) {mode=\"linear\"}",
        "Resize(%a, _, _, %sizes)",
        "Interpolate(%a, _, _, %pixels) {axes=ints[2, 3], mode=\"linear\"}"})
    EXPECT_EQ(made(passes).exponents("b"), (Exponents{0, 3})) << passes;
  for (const std::string stays :
       {"Resize(%a, _, %shifts)", "Interpolate(%a, _, %shifts) {mode=\"linear\"}",
        "Resize(%a, _, _, %sizes) {keep_aspect_ratio_policy=\"not_smaller\"}"})
    EXPECT_EQ(made(stays).exponents("b"), Exponents{}) << stays;
}

// Large enough to be shared among threads: three products, one of which reads the sum of the others.
TEST(Equalize, ThreadsChangeNothing) {
  constexpr size_t kChannels = 256;
  std::mt19937 random(5);
  const auto weights = [&](const char* name) {
    std::string text = fmt::format("  const %{}: f32[256,256,1,1] = {{", name);
    for (size_t i = 0; i < kChannels * kChannels; ++i)
      text += fmt::format("{}{}", i > 0 ? ", " : "", static_cast<int>(random() % 1999) - 999);
    return text + "}\n";
  };
  Case c("graph \"g\"(%x: f32[1,256,2,2]) {\n" + weights("u") + weights("v") + weights("w") +
         R"(  %a: f32[1,256,2,2] = Conv(%x, %u) name "a"
  %b: f32[1,256,2,2] = Conv(%a, %v) name "b"
  %s: f32[1,256,2,2] = Add(%a, %b) name "s"
  %r: f32[1,256,2,2] = Relu(%s) name "r"
  %y: f32[1,256,2,2] = Conv(%r, %w) name "y"
  return %y
})");
  for (const char* name : {"a", "b", "s", "r", "y"}) {
    std::vector<f64> widths;
    for (size_t i = 0; i < kChannels; ++i)
      widths.push_back(std::exp2(-static_cast<f64>(random() % 90) / 10));
    c.with(name, widths);
  }
  const ChannelExponents one = choose_exponents(c.graph, c.seen, {});
  EXPECT_EQ(one.size(), 4u);
  for (const int threads : {2, 7}) EXPECT_EQ(choose_exponents(c.graph, c.seen, {}, threads), one);
}

TEST(Equalize, OutputsOfTheModelStay) {
  Case c(between("  %y: f32[1,2,4,4] = Relu(%a) name \"y\"\n"));
  c.with("a", {8, 1}).with("y", {8, 1});
  EXPECT_EQ(c.exponents("a"), Exponents{});
}

// A bias that a run gives cannot be multiplied: the result stays, and what the product reads may still change.
TEST(Equalize, ABiasOfARunFixesTheResultAlone) {
  Case c(R"(graph "g"(%x: f32[1,2,4,4], %bias: f32[2]) {
  const %w: f32[2,2,1,1] = {1, -2, 0.5, 3}
  const %d: f32[2,1,1,1] = {1, 3}
  %a: f32[1,2,4,4] = Conv(%x, %w) name "a"
  %b: f32[1,2,4,4] = Conv(%a, %d, %bias) {group=2} name "b"
  %y: f32[1,2,4,4] = Conv(%b, %d) {group=2} name "y"
  return %y
})");
  c.with("a", {8, 0.9}).with("b", {8, 0.9}).with("y", {8, 2.7});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 3}));
  EXPECT_EQ(c.exponents("b"), Exponents{});
  Graph equalized = c.graph;
  apply_exponents(equalized, choose_exponents(c.graph, c.seen, {}));
  verify(equalized);
  EXPECT_EQ(equalized.nodes[1].inputs[2], c.graph.nodes[1].inputs[2]);
}

// Both branches feed one sum: what one cannot bear, neither gets.
TEST(Equalize, MembersOfASumShareTheirFactors) {
  const std::string nodes = R"(  %b: f32[1,2,4,4] = Conv(%x, %w) name "b"
  %s: f32[1,2,4,4] = Add(%a, %b) name "s"
  %y: f32[1,2,4,4] = Conv(%s, %d) {group=2} name "y"
)";
  Case c(between(nodes));
  c.with("a", {8, 1}).with("b", {2, 1}).with("s", {8, 1}).with("y", {8, 3});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 1}));  // b has a width of 2 for both
  EXPECT_EQ(c.exponents("b"), (Exponents{0, 1}));
  EXPECT_EQ(c.exponents("s"), (Exponents{0, 1}));
}

TEST(Equalize, ResidualInputsAreMembersOfASum) {
  const std::string nodes = R"(  %b: f32[1,2,4,4] = Conv(%x, %w, _, %a) name "b"
  %y: f32[1,2,4,4] = Conv(%b, %d) {group=2} name "y"
)";
  Case c(between(nodes));
  c.with("a", {4, 1}).with("b", {8, 0.5}).with("y", {8, 3});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 2}));
  EXPECT_EQ(c.exponents("b"), (Exponents{0, 2}));
}

TEST(Equalize, ConcatAndSplitMapChannels) {
  const std::string nodes = R"(  %b: f32[1,4,4,4] = Concat(%a, %a2) {axis=1} name "b"
  %p: f32[1,1,4,4], %q: f32[1,3,4,4] = Split(%b, %sizes) {axis=1} name "split"
  %r: f32[1,1,4,4] = Conv(%p, %e) name "r"
  %y: f32[1,3,4,4] = Conv(%q, %f) {group=3} name "y"
)";
  Case c(between("  %a2: f32[1,2,4,4] = Conv(%x, %w) name \"a2\"\n" + nodes,
                 R"(  const %sizes: s64[2] = {1, 3}
  const %e: f32[1,1,1,1] = {1}
  const %f: f32[3,1,1,1] = {1, 2, 3}
)"));
  c.with("b", {8, 4, 2, 1}).with("q", {8, 4, 2}).with("y", {4, 4, 4});
  const Exponents b = c.exponents("b");
  ASSERT_EQ(b.size(), 4u);
  EXPECT_EQ(c.exponents("a2"), (Exponents{b[2], b[3]}));
  EXPECT_EQ(c.exponents("q"), (Exponents{b[1], b[2], b[3]}));
}

// One filter reads both channels: what is gained in codes is lost in the weight of the quiet channel, which shrinks.
TEST(Equalize, AFilterOverAllChannelsTakesLess) {
  Case c(between("  %y: f32[1,2,4,4] = Conv(%a, %w) name \"y\"\n"));
  c.with("a", {8, 0.01}).with("y", {8, 4});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 6}));
  Case alone(between("  %y: f32[1,2,4,4] = Conv(%a, %d) {group=2} name \"y\"\n"));
  alone.with("a", {8, 0.01}).with("y", {8, 0.03});
  EXPECT_EQ(alone.exponents("a"), (Exponents{0, 9}));
}

TEST(Equalize, WeightsStayNormalNumbers) {
  Case c(R"(graph "g"(%x: f32[1,2,4,4]) {
  const %w: f32[2,2,1,1] = {1, -2, 0.5, 3}
  const %d: f32[2,1,1,2] = {1, 3, 4.7019774e-38, 3}
  %a: f32[1,2,4,4] = Conv(%x, %w) name "a"
  %y: f32[1,2,4,3] = Conv(%a, %d) {group=2} name "y"
  return %y
})");
  c.with("a", {64, 1}).with("y", {64, 1});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 2}));  // 4.7e-38 is 2^-124
}

// An f16 layer of the same build gets them too.
TEST(Equalize, WeightsStayNumbersOfHalf) {
  const auto made = [](const char* a, const char* bias, const char* d) {
    return Case(fmt::format(R"(graph "g"(%x: f32[1,2,4,4]) {{
  const %w: f32[2,1,1,1] = {{1, {}}}
  const %bias: f32[2] = {{1, {}}}
  const %d: f32[2,1,1,2] = {{1, 3, {}, 6e-6}}
  %a: f32[1,2,4,4] = Conv(%x, %w, %bias) {{group=2}} name "a"
  %y: f32[1,2,4,3] = Conv(%a, %d) {{group=2}} name "y"
  return %y
}})",
                            a, bias, d))
        .with("a", {64, 1})
        .with("y", {64, 1});
  };
  EXPECT_EQ(made("16384", "1", "1").exponents("a"), (Exponents{0, 1}));
  EXPECT_EQ(made("16376", "1", "1").exponents("a"), (Exponents{0, 2}));
  EXPECT_EQ(made("1", "32000", "1").exponents("a"), (Exponents{0, 1}));
  EXPECT_EQ(made("1", "1", "0.00025").exponents("a"), (Exponents{0, 2}));  // 2^-11.97
  // What f16 does not hold as it is bounds nothing.
  EXPECT_EQ(made("70000", "1", "1").exponents("a"), (Exponents{0, 6}));
  EXPECT_EQ(made("1", "1", "0.00003").exponents("a"), (Exponents{0, 6}));
}

TEST(Equalize, ChannelsStayNumbersOfHalf) {
  Case c(between("  %y: f32[1,2,4,4] = Conv(%a, %d) {group=2} name \"y\"\n"));
  c.with("a", {262144, 8190}).with("y", {262144, 24570});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 2}));  // 8188 * 8 is where f16 ends
}

TEST(Equalize, ExponentsGoAsFarAsTheChannelsLieApart) {
  Case c(between("  %y: f32[1,2,4,4] = Conv(%a, %d) {group=2} name \"y\"\n"));
  c.with("a", {16384, 0.9}).with("y", {16384, 2.7});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 14}));
}

TEST(Equalize, FixedValuesStay) {
  Case c(between("  %y: f32[1,2,4,4] = Conv(%a, %d) {group=2} name \"y\"\n"));
  c.with("a", {8, 1}).with("y", {8, 3});
  EXPECT_EQ(c.exponents("a"), (Exponents{0, 3}));
  EXPECT_TRUE(choose_exponents(c.graph, c.seen, {c.graph.find_value("a")}).empty());
}

TEST(Equalize, WhatACacheSaysIsHeldToTheGraph) {
  const Case c(
      between("  %b: f32[1,2,4,4] = Relu(%a) name \"b\"\n"
              "  %y: f32[1,2,4,4] = Conv(%b, %d) {group=2} name \"y\"\n"));
  const ValueId a = c.graph.find_value("a"), b = c.graph.find_value("b");
  std::string misfit;
  EXPECT_EQ(completed_exponents(c.graph, {{b, {0, 3}}}, misfit).at(a), (std::vector<s8>{0, 3}));
  EXPECT_EQ(misfit, "");
  completed_exponents(c.graph, {{b, {0, 3}}, {a, {0, 2}}}, misfit);
  EXPECT_NE(misfit, "");
  misfit = "";
  completed_exponents(c.graph, {{b, {0, 3, 1}}}, misfit);
  EXPECT_NE(misfit, "");
  misfit = "";
  completed_exponents(c.graph, {{c.graph.find_value("y"), {0, 3}}}, misfit);
  EXPECT_NE(misfit, "");
  EXPECT_TRUE(without_exponents(c.graph, {{a, {0, 3}}, {b, {0, 3}}}, {a}).empty());
}

}  // namespace
}  // namespace octet
