// SPDX-License-Identifier: Apache-2.0
#include "precision/halves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"

namespace octet {
namespace {

// A chain: a product with bias and Relu, a move, a product.
constexpr std::string_view kChain = R"(graph "g"(%x: f32[2,4]) {
  const %w0: f32[4,3] = {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 1.1, 1.2, 1.3}
  const %b0: f32[3] = {0.01, 0.02, 0.03}
  const %shape: s64[2] = {2, 3}
  const %w1: f32[3,2] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}
  %a: f32[2,3] = MatMul(%x, %w0, %b0) {activation="relu"} name "first" from ["first"] as "f32" float_build "f"
  %b: f32[2,3] = Reshape(%a, %shape) name "move" from ["move"] as "f32" float_build "f"
  %y: f32[2,2] = MatMul(%b, %w1) name "second" from ["second"] as "f32" float_build "f"
  return %y
})";

Graph chain() { return parse_graph(kChain, find_op); }

std::vector<std::string> nodes_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes)
    names.push_back(fmt::format("{} {}", node.op->name, to_string(node.decision.precision)));
  return names;
}

HalfPlan plan_of(Precision type) {
  HalfPlan plan;
  plan.type = type;
  return plan;
}

TEST(Halves, RoundsWhatLayersReadAndGive) {
  Graph graph = chain();
  narrow_layers(graph, plan_of(Precision::bf16));
  EXPECT_EQ(nodes_of(graph),
            (std::vector<std::string>{"RoundTo bf16", "MatMul bf16", "RoundTo bf16", "Reshape bf16",
                                      "MatMul bf16", "RoundTo bf16"}));
  EXPECT_EQ(graph.find_value("w0"), kNoValue);  // the rounded one alone is left
  const Tensor& w = graph.value(graph.find_value("w0.bf16")).constant;
  EXPECT_EQ(w.as<f32>()[0], static_cast<f32>(bf16(0.1f)));
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
}

TEST(Halves, ALayerOfAnotherTypeIsAsked) {
  Graph graph = chain();
  HalfPlan plan = plan_of(Precision::none);
  plan.asked["second"].precision = Precision::f16;
  narrow_layers(graph, plan);
  EXPECT_EQ(nodes_of(graph), (std::vector<std::string>{"MatMul f32", "Reshape f32", "RoundTo f16",
                                                       "MatMul f16", "RoundTo f16"}));
  graph = chain();
  plan = plan_of(Precision::f16);
  plan.asked["first"].precision = Precision::f32;
  plan.instead["second"] = {Precision::bf16, ReasonCode::kept_for_accuracy, "too large"};
  narrow_layers(graph, plan);
  EXPECT_EQ(nodes_of(graph),
            (std::vector<std::string>{"MatMul f32", "RoundTo f16", "Reshape f16", "RoundTo bf16",
                                      "MatMul bf16", "RoundTo bf16"}));
}

// Kernels of attention whose Softmax gives codes hold its scores, and the mask that is added to them, in f32; those of any other Softmax are 16 bits.
TEST(Halves, ScoresOfCodesStayAsTheyAre) {
  const auto narrowed = [](const char* softmax) {
    Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: f32[2,4], %m: f32[1,4]) {{
  const %s: f32[1] = {{-10000.0}}
  %n: f32[1,4] = Mul(%m, %s) name "mask" from ["mask"] as "f32" codes_of_rows "scores"
  %a: f32[2,4] = Add(%x, %n) name "masked" from ["masked"] as "f32" codes_of_rows "scores"
  %y: f32[2,4] = Softmax(%a) {{axis=-1}} name "softmax" from ["softmax"] as {}
  return %y
}})",
                                          softmax),
                              find_op);
    narrow_layers(graph, plan_of(Precision::f16));
    std::vector<std::string> names;
    for (const Node& node : graph.nodes) {
      if (node.op->name != "RoundTo")
        names.push_back(std::string(to_string(node.decision.precision)));
    }
    return names;
  };
  EXPECT_EQ(narrowed("\"int8\" codes_of_rows \"codes\""),
            (std::vector<std::string>{"f32", "f32", "int8"}));
  EXPECT_EQ(narrowed("\"f32\" kept_for_accuracy \"reals\""),
            (std::vector<std::string>{"f16", "f16", "f16"}));
}

TEST(Halves, FiniteConstantsStayFinite) {
  const f32 inf = INFINITY;
  const Tensor real =
      Tensor::of<f32>(Shape{5}, std::vector<f32>{1e6f, -1e6f, inf, 1e-9f, 65519.0f});
  const Tensor half = rounded_to(real, Precision::f16);
  const std::vector<f32> want = {65504.0f, -65504.0f, inf, 0.0f, 65504.0f};
  EXPECT_TRUE(std::ranges::equal(half.as<f32>(), want));
}

// Weights that f16 loses on one side have room on the other.
TEST(Halves, RescalingChangesNoBit) {
  Graph graph = chain();
  for (const char* name : {"w0", "b0"}) {
    for (f32& w : graph.value(graph.find_value(name)).constant.mutable_as<f32>()) w *= 0x1p-17f;
  }
  // The move stands between them.
  EXPECT_NE(rescaled_for_halves(graph, std::vector<size_t>{0, 2}).find_value("w0"), kNoValue);
  graph.nodes[2].inputs[0] = graph.nodes[0].outputs[0];
  graph.nodes.erase(graph.nodes.begin() + 1);
  const Graph moved = rescaled_for_halves(graph, std::vector<size_t>{0, 1});
  const Tensor* w = moved.constant_input(moved.nodes[0], 1);
  for (const f32 x : w->as<f32>()) EXPECT_GE(std::fabs(x), 0x1p-14f);
  for (const f32 x : moved.constant_input(moved.nodes[1], 1)->as<f32>())
    EXPECT_GE(std::fabs(x), 0x1p-14f);
  const Tensor x = Tensor::of<f32>(Shape{2, 4}, std::vector<f32>{1, -2, 3, 0.3f, 5, 0.7f, -7, 8});
  const Tensor want = interpret(graph, {&x, 1})[0], got = interpret(moved, {&x, 1})[0];
  EXPECT_TRUE(std::ranges::equal(want.as<f32>(), got.as<f32>()));
  EXPECT_EQ(graph.constant_input(graph.nodes[0], 1)->as<f32>()[0], 0.1f * 0x1p-17f);
}

TEST(Halves, ARescaledLayerHasOneReader) {
  Graph graph = chain();
  graph.nodes[2].inputs[0] = graph.nodes[0].outputs[0];
  graph.outputs.push_back(graph.nodes[0].outputs[0]);
  for (f32& w : graph.value(graph.find_value("w0")).constant.mutable_as<f32>()) w *= 0x1p-17f;
  const Graph same = rescaled_for_halves(graph, std::vector<size_t>{0, 2});
  EXPECT_EQ(same.value(same.nodes[0].inputs[1]).name, "w0");
}

}  // namespace
}  // namespace octet
