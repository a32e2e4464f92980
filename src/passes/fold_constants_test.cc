// SPDX-License-Identifier: Apache-2.0
// What folding may compute: hours of arithmetic on constants are left to the run.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/run_work.h"
#include "graph/propagate.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace octet {
namespace {

Graph folded(const std::string& body) {
  Graph graph = parse_graph("graph \"g\"(%x: f32[1]) {\n" + body + "\nreturn %y\n}", find_op);
  run_passes(graph, float_passes(), {}, nullptr);
  return graph;
}

s64 count_of(const Graph& graph, std::string_view op) {
  return std::ranges::count(graph.nodes, op, [](const Node& node) { return node.op->name; });
}

// As resamplers count what they give: a third of 8 and of 9 frames, rounded up, is one number.
TEST(FoldConstants, WhatSizesTellIsLeftToTheRunWhereTwoSizesTellTheSame) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,?]) {
    const %two: s64[1] = {2}
    const %three: s64[1] = {3}
    const %zero: s64[] = {0}
    const %one: s64[] = {1}
    %n: s64[] = Shape(%x) {start=1} name "n"
    %more: s64[] = Add(%n, %two) name "more"
    %third: s64[] = Div(%more, %three) name "third"
    %count: s64[] = Squeeze(%third) name "count"
    %range: s64[] = Range(%zero, %count, %one) name "range"
    %pooled: f32[] = ReduceMean(%x) name "pooled"
    return %range, %pooled
  })",
                            find_op);
  run_passes(graph, float_passes(), {}, nullptr);
  EXPECT_EQ(count_of(graph, "Range"), 1);
  EXPECT_FALSE(graph.value(graph.outputs[0]).type.shape.is_static());
}

// The samples agree in what is made of a question that each answers alike, or of a bound that all pass.
TEST(FoldConstants, WhatIsMadeOfAnswersAboutSizesIsLeftToTheRun) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,4]) {
    const %zero: s64[] = {0}
    const %one: s64[] = {1}
    const %six: s64[1] = {6}
    const %ten: f32[] = {10}
    const %twenty: f32[] = {20}
    %s: s64[] = Shape(%x) name "s"
    %batch: s64[] = Gather(%s, %zero) name "batch"
    %width: s64[] = Gather(%s, %one) name "width"
    %single: bool[] = Equal(%batch, %one) name "single"
    %chosen: f32[] = Where(%single, %ten, %twenty) name "chosen"
    %n: s64[] = Shape(%x) {end=1} name "n"
    %bound: s64[] = Max(%n, %six) name "bound"
    %scalar: s64[] = Squeeze(%bound) name "scalar"
    %range: s64[] = Range(%zero, %scalar, %one) name "range"
    %columns: s64[] = Range(%zero, %width, %one) name "columns"
    %rank: s64[] = Size(%s) name "rank"
    %axes: s64[] = Range(%zero, %rank, %one) name "axes"
    return %chosen, %range, %columns, %axes
  })",
                            find_op);
  run_passes(graph, float_passes(), {}, nullptr);
  EXPECT_EQ(count_of(graph, "Where"), 1);
  EXPECT_EQ(count_of(graph, "Squeeze"), 1);
  EXPECT_EQ(count_of(graph, "Range"), 1) << "those of the columns and axes are folded";
}

TEST(FoldingBudget, LeavesHoursOfWorkToTheRun) {
  const Graph einsum = folded(R"(const %s: s64[1] = {1000}
    %c: f32[1000] = ConstantOfShape(%s) name "c"
    %t: f32[] = Einsum(%c, %c, %c, %c) {equation="a,b,c,d->"} name "t"
    %y: f32[1] = Add(%x, %t) name "y")");
  EXPECT_EQ(count_of(einsum, "Einsum"), 1);
  EXPECT_EQ(count_of(einsum, "ConstantOfShape"), 0) << "what is cheap is folded";
  const Graph det = folded(R"(const %s: s64[2] = {4000, 4000}
    %c: f32[4000,4000] = ConstantOfShape(%s) name "c"
    %t: f32[] = Det(%c) name "t"
    %y: f32[1] = Add(%x, %t) name "y")");
  EXPECT_EQ(count_of(det, "Det"), 1);
}

// Each is cheap by itself, a quarter of a million elements read and written.
TEST(FoldingBudget, IsOneForAllNodes) {
  std::string body = R"(const %s: s64[2] = {512, 512}
    %t0: f32[512,512] = ConstantOfShape(%s) name "c"
  )";
  constexpr int kNodes = 200;
  for (int i = 0; i < kNodes; ++i) {
    body += fmt::format("%t{}: f32[512,512] = Exp(%t{}) name \"n{}\"\n", i + 1, i, i);
  }
  body += fmt::format(
      "%r: f32[1,1] = ReduceSum(%t{}) name \"r\"\n%y: f32[1,1] = Add(%x, %r) name \"y\"", kNodes);
  const Graph graph = folded(body);
  EXPECT_GT(count_of(graph, "Exp"), kNodes / 4);
  EXPECT_LT(count_of(graph, "Exp"), kNodes) << "some are folded";
}

// Two hundred bodies whose constants take as much each as a body may fold.
TEST(FoldingBudget, IsOneForAllBodies) {
  constexpr int kBodies = 200;
  std::string text = "graph \"g\"(%x: f32[1], %k: bool[]) {\n  const %s: s64[1] = {15000}\n";
  for (int i = 0; i < kBodies; ++i) {
    const std::string branch = R"(graph "b"(%s: s64[1], %x: f32[1]) {
      %c: f32[] = ConstantOfShape(%s)
      %n1: f32[] = Neg(%c)
      %n2: f32[] = Neg(%n1)
      %n3: f32[] = Neg(%n2)
      %n4: f32[] = Neg(%n3)
      %t: f32[] = ReduceSum(%n4) {keepdims=0}
      %y: f32[1] = Add(%x, %t)
      return %y
    })";
    text += fmt::format("  %y{}: f32[1] = If(%k, %s, %x) {{else_branch={}, then_branch={}}}\n", i,
                        branch, branch);
  }
  const Graph graph = parse_graph(fmt::format("{}  return %y{}\n}}", text, kBodies - 1), find_op);
  FoldingBudget budget(4e6);
  PropagateOptions options;
  options.budget = &budget;
  const RunWork work;
  const Propagated types = propagate(graph, std::vector<Shape>{{1}, {}}, options);
  EXPECT_EQ(types.types[graph.outputs[0]].shape, Shape({1}));
  EXPECT_GT(RunWork::taken(), 3e6);
  EXPECT_LT(RunWork::taken(), 4.5e6);
}

// Who asks for a size reads no element.
TEST(FoldingBudget, SizesOfLargeValuesCostNothing) {
  std::string body = "const %zero: s64[1] = {0}\n";
  constexpr int kNodes = 40;
  for (int i = 0; i < kNodes; ++i) {
    body += fmt::format(
        "%t{}: f32[64,1000,1000] = Relu(%{}) name \"r{}\"\n%s{}: s64[3] = Shape(%t{}) name "
        "\"s{}\"\n"
        "%n{}: s64[1] = Gather(%s{}, %zero) {{axis=0}} name \"n{}\"\n",
        i, i == 0 ? "x" : fmt::format("t{}", i - 1), i, i, i, i, i, i, i);
  }
  const Graph graph = parse_graph(
      fmt::format("graph \"g\"(%x: f32[?,1000,1000]) {{\n{}return %n{}\n}}", body, kNodes - 1),
      find_op);
  const Propagated types = propagate(graph, std::vector<Shape>{{64, 1000, 1000}}, {});
  for (int i = 0; i < kNodes; ++i) {
    const Tensor& size = types.known[graph.find_value(fmt::format("n{}", i))];
    ASSERT_TRUE(size) << i;
    EXPECT_EQ(size.as<s64>()[0], 64);
  }
}

// Weights pay for what is made of them, and sizes are always computed.
TEST(FoldingBudget, GrowsWithTheConstants) {
  Graph graph;
  Node node;
  node.op = find_op("Exp");
  node.name = "n";
  FoldingBudget without(graph);
  EXPECT_EQ(without.left_out(), "");
  EXPECT_FALSE(without.take(2e9, node));
  EXPECT_TRUE(without.take(40e6, node));
  EXPECT_FALSE(without.take(40e6, node));
  EXPECT_TRUE(without.take(100, node));
  EXPECT_EQ(without.left_out(),
            "constants are computed in every run, where folding them takes too long: node 'n' "
            "(Exp) alone takes 2e+09 steps");
  graph.add_constant("w", Tensor(Dtype::f32, {16 << 20}));
  EXPECT_TRUE(FoldingBudget(graph).take(2e9, node));
}

}  // namespace
}  // namespace octet
