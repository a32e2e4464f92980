// SPDX-License-Identifier: Apache-2.0
// A function behind a product is computed of its sum: calibrated graphs round nothing between them (docs/numerics.md section 5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/quantized/zero_points.h"
#include "ops/registry.h"
#include "precision/precision.h"
#include "precision/quantized_testing.h"
#include "precision/range_testing.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProduct[] = R"(
  const %w: f32[4,4] = {0.5, -1.0, 0.25, 1.0, 0.75, 0.5, -0.5, 0.25, 1.0, 0.5, -1.0, 0.5, 0.25, 0.5, 1.0, -0.75}
  %a: f32[2,4] = MatMul(%x, %w) name "a")";

Graph parsed(const std::string& nodes) {
  return parse_graph("graph \"g\"(%x: f32[2,4]) {" + std::string(kProduct) + nodes + "\n}",
                     find_op);
}

// Inputs are within one, sums within four. `given`: the range of %a is the user's, and far too small.
Graph quantized(const std::string& nodes, bool given = false) {
  Graph graph = parsed(nodes);
  Ranges ranges;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.is_constant(id)) continue;
    const std::string& name = graph.value(id).name;
    ranges[id] = name == "x" ? range(-1, 1) : name == "y" ? range(-0.2784f, 4) : range(-4, 4);
    if (given && name == "a") {
      ranges[id] = range(-0.125f, 0.125f);
      ranges[id].method = RangeRule::given;
    }
  }
  quantize_as_calibrated(graph, ranges);
  return graph;
}

const Node& node_of(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return node;
  }
  throw std::runtime_error("no node " + name + " in " + print(graph));
}

// Half a code of the input (1 / 254) through weights that add up to 2.75 is 0.65 of a code of the function's result, which is rounded by half a code;
// both through such weights again are 3.2, and the weights' own codes add some.
constexpr f32 kMostCodes = 4;

// How far the graph is from its reals, in codes of the function's result as the last product takes them.
f32 apart(const Graph& graph, const std::string& nodes) {
  const Tensor x = Tensor::of<f32>({2, 4}, {{1, -1, 0.5f, 0.25f, -0.75f, -1, -0.125f, 0.0625f}});
  const Tensor want = interpret(parsed(nodes), std::vector{x})[0];
  const Tensor got = interpret(graph, std::vector{x})[0];
  f32 most = 0;
  for (size_t i = 0; i < want.as<f32>().size(); ++i)
    most = std::max(most, std::fabs(got.as<f32>()[i] - want.as<f32>()[i]));
  return most / (4.2784f / 255);
}

// The function's result is read as codes.
constexpr char kPlain[] = R"(
  %y: f32[2,4] = Swish(%a) name "y"
  %o: f32[2,4] = MatMul(%y, %w) name "o"
  return %o)";

TEST(FunctionsOfProducts, NothingIsRoundedBeforeThem) {
  const Graph graph = quantized(kPlain);
  EXPECT_TRUE(has_fine_table(node_of(graph, "a"))) << print(graph);
  EXPECT_EQ(graph.nodes.size(), 3u) << print(graph);  // the input's codes and two products
  EXPECT_LE(apart(graph, kPlain), kMostCodes);
}

TEST(FunctionsOfProducts, ElementsMayBeMovedBetween) {
  const char* moved = R"(
  %t: f32[4,2] = Transpose(%a) {perm=ints[1, 0]} name "t"
  %y: f32[4,2] = Swish(%t) name "y"
  const %v: f32[2,3] = {0.5, -1.0, 0.25, 1.0, 0.75, 0.5}
  %o: f32[4,3] = MatMul(%y, %v) name "o"
  return %o)";
  const Graph graph = quantized(moved);
  EXPECT_TRUE(has_fine_table(node_of(graph, "a"))) << print(graph);
  EXPECT_LE(apart(graph, moved), kMostCodes);
}

TEST(FunctionsOfProducts, AnotherReaderNeedsTheCodes) {
  const Graph graph = quantized(R"(
  %y: f32[2,4] = Swish(%a) name "y"
  %o: f32[2,4] = MatMul(%y, %w) name "o"
  %z: f32[2,4] = MatMul(%a, %w) name "z"
  return %o, %z)");
  EXPECT_FALSE(has_fine_table(node_of(graph, "a"))) << print(graph);
}

TEST(FunctionsOfProducts, ARangeGivenBetweenHasNoUseAndThatIsSaid) {
  const Graph graph = quantized(kPlain, true);
  EXPECT_THAT(
      node_of(graph, "a").decision.reason,
      HasSubstr("the range given for its result has no use: nothing is rounded before Swish"));
  EXPECT_LE(apart(graph, kPlain), kMostCodes);
  EXPECT_THAT(node_of(quantized(kPlain), "a").decision.reason, Not(HasSubstr("has no use")));
}

}  // namespace
}  // namespace octet
