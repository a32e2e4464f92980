// SPDX-License-Identifier: Apache-2.0
// Scores of attention stay f32 from their product to Softmax, whoever asks for INT8.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "graph/text.h"
#include "ops/registry.h"
#include "precision/constraints.h"
#include "precision/precision.h"
#include "precision/quantized_testing.h"

namespace octet {
namespace {

Graph attention_of(const std::string& scores) {
  return parse_graph(
      R"(graph "g"(%q: f32[1,2,4,16], %k: f32[1,2,16,4], %v: f32[1,2,4,16], %mask: f32[1,1,1,4], %far: bool[1,1,1,4]) {
  const %root: f32[] = {3.0}
  const %one: f32[] = {1.0}
  const %least: f32[] = {-3.4028235e38}
  %s: f32[1,2,4,4] = MatMul(%q, %k) name "scores"
)" + scores +
          R"(
  %p: f32[1,2,4,4] = Softmax(%z) {axis=-1} name "softmax"
  %o: f32[1,2,4,16] = MatMul(%p, %v) name "context"
  %y: f32[1,2,4,16] = Relu(%o) name "relu"
  return %y
})",
      find_op);
}

// Everything is asked for in INT8; the operators of the integer graph, and how many there are of each.
std::map<std::string, int> operators_of(Graph graph) {
  Ranges ranges;
  for (ValueId id = 0; id < graph.value_count(); ++id)
    ranges[id] = {.min = -2, .max = 2, .threshold = 2};
  const std::vector<LayerRequest> requests(graph.nodes.size(),
                                           {Precision::int8, Precision::none, "*:int8", ""});
  quantize_as_calibrated(graph, ranges, {.keep_float = {}, .requests = requests});
  std::map<std::string, int> count;
  for (const Node& node : graph.nodes) ++count[std::string(node.op->name)];
  return count;
}

TEST(ScoresOfAttention, AreNoCodes) {
  const struct {
    const char* name;
    const char* text;
    int sums;
  } cases[] = {
      {"scaled", "%z: f32[1,2,4,4] = Div(%s, %root) name \"z\"", 0},
      {"masked", R"(
  %n: f32[1,1,1,4] = Sub(%one, %mask) name "n"
  %m: f32[1,1,1,4] = Mul(%n, %least) name "m"
  %d: f32[1,2,4,4] = Mul(%s, %root) name "d"
  %z: f32[1,2,4,4] = Add(%d, %m) name "z")",
       1},
      {"masked in other axes", R"(
  const %flat: s64[3] = {2, 4, 4}
  const %whole: s64[4] = {1, 2, 4, 4}
  %a: f32[1,2,4,4] = Add(%mask, %s) name "a"
  %f: f32[2,4,4] = Reshape(%a, %flat) name "f"
  %z: f32[1,2,4,4] = Reshape(%f, %whole) name "z")",
       1},
  };
  for (const auto& each : cases) {
    const std::map<std::string, int> count = operators_of(attention_of(each.text));
    const auto of = [&](const char* name) { return count.contains(name) ? count.at(name) : 0; };
    EXPECT_EQ(of("QMatMul"), 2) << each.name;
    EXPECT_EQ(of("QSoftmax"), 1) << each.name;
    EXPECT_EQ(of("QAdd") + of("QMul") + of("QTable"), 0) << each.name;
    EXPECT_EQ(of("Add"), each.sums) << each.name;
    EXPECT_EQ(of("QuantizeLinear"), 3) << each.name;  // of what the caller gives
  }
}

// A Softmax of something else is no attention: its neighbors are asked as all others.
TEST(ScoresOfAttention, AreOfAProductOfActivations) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,4]) {
  const %w: f32[4,4] = {0.5, -1.0, 0.25, 1.0, 0.75, 0.5, -0.5, 0.25, 1.0, 0.5, -1.0, 0.5, 0.25, 0.5, 1.0, -0.75}
  const %c: f32[1,4] = {0.5, 1.0, 2.0, 3.0}
  %a: f32[1,4] = MatMul(%x, %w) name "a"
  %s: f32[1,4] = Add(%a, %c) name "s"
  %y: f32[1,4] = Softmax(%s) {axis=-1} name "y"
  return %y
})",
                            find_op);
  EXPECT_EQ(operators_of(std::move(graph))["Add"], 0);
}

}  // namespace
}  // namespace octet
