// SPDX-License-Identifier: Apache-2.0
// Which recurrent layers multiply codes.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "graph/text.h"
#include "ops/quantized/weight_codes.h"
#include "ops/registry.h"
#include "precision/precision.h"

namespace octet {
namespace {

constexpr s64 kHidden = 4, kInput = 3;

// Numbers between -scale and scale.
std::string numbers(s64 count, f64 scale) {
  std::vector<f64> all;
  for (s64 i = 0; i < count; ++i) all.push_back(scale * std::sin(static_cast<f64>(7 * i + 1)));
  return fmt::format("{:.9e}", fmt::join(all, ", "));
}

struct Layer {
  const char* op = "LSTM";
  s64 gates = 4;
  f64 state_weights = 0.3;
  const char* attrs = "";
  const char* outputs = "%y: f32[6,1,1,4]";
  const char* result = "%y";
};

Graph graph_of(const Layer& layer) {
  const s64 rows = layer.gates * kHidden;
  return parse_graph(fmt::format(R"(graph "g"(%x: f32[6,1,3]) {{
    const %w: f32[1,{},3] = {{{}}}
    const %r: f32[1,{},4] = {{{}}}
    {} = {}(%x, %w, %r) {{hidden_size=4{}}} name "layer" from ["layer"]
    return {}
  }})",
                                 rows, numbers(rows * kInput, 0.5), rows,
                                 numbers(rows * kHidden, layer.state_weights), layer.outputs,
                                 layer.op, layer.attrs, layer.result),
                     find_op);
}

Range range_of_x() {
  Range range;
  range.min = -2;
  range.max = 2;
  range.threshold = 2;
  return range;
}

Decision decision_of(Graph& graph) {
  // What a layer reads alone is measured: its results are real.
  EXPECT_EQ(values_to_observe(graph), graph.inputs);
  const Ranges ranges = {{graph.inputs[0], range_of_x()}};
  assign_precision(graph, ranges, {});
  return graph.nodes[0].decision;
}

TEST(RecurrentLoss, LayersOfCalmStatesMultiplyCodes) {
  for (const Layer& layer :
       {Layer{}, Layer{.op = "GRU", .gates = 3}, Layer{.op = "RNN", .gates = 1}}) {
    Graph graph = graph_of(layer);
    EXPECT_EQ(decision_of(graph).precision, Precision::int8)
        << layer.op << graph.nodes[0].decision.reason;
    WeightCodes codes;
    place_qdq(graph, {{graph.inputs[0], range_of_x()}}, codes);
    ASSERT_EQ(graph.nodes.size(), 3u);  // Q and DQ of x alone
    EXPECT_EQ(graph.nodes[2].op->name, layer.op);
  }
}

TEST(RecurrentLoss, TheLastStateMayBeAllThatIsRead) {
  Graph graph = graph_of({.outputs = "_, %h: f32[1,1,4]", .result = "%h"});
  EXPECT_EQ(decision_of(graph).precision, Precision::int8) << graph.nodes[0].decision.reason;
}

// Gates that flip with the last bit of a state.
TEST(RecurrentLoss, AStateThatRoundingTurnsOverStaysReal) {
  for (const Layer& layer :
       {Layer{.state_weights = 6}, Layer{.op = "GRU", .gates = 3, .state_weights = 30},
        Layer{.op = "RNN", .gates = 1, .state_weights = 10}}) {
    Graph graph = graph_of(layer);
    const Decision decision = decision_of(graph);
    EXPECT_EQ(decision.code, ReasonCode::kept_for_accuracy) << layer.op;
    EXPECT_TRUE(decision.reason.starts_with("codes of 'x' and of its state would cost "))
        << decision.reason;
  }
}

TEST(RecurrentLoss, FormsThatNoCodesHave) {
  Graph graph = graph_of({.attrs = ", clip=1.0"});
  const Decision decision = decision_of(graph);
  EXPECT_EQ(decision.code, ReasonCode::refused_by_operator);
  EXPECT_EQ(decision.reason, "its sums are clipped");
}

}  // namespace
}  // namespace octet
