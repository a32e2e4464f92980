// SPDX-License-Identifier: Apache-2.0
// What calibration improves beyond ranges: one-sided codes, tables' inputs, lost channels, biases.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/text.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/weight_codes.h"
#include "ops/registry.h"
#include "precision/precision.h"
#include "precision/range_testing.h"

namespace octet {
namespace {

Range seen(Range range, std::vector<f64> power, std::vector<f64> mean) {
  range.seen = std::make_shared<TensorStatistics>(TensorStatistics{0, {}, mean, power});
  return range;
}

ValueId value(const Graph& graph, const char* name) { return graph.find_value(name); }

TEST(CodeType, ThreeKindsOfRange) {
  const CodeType positive = code_type_of(range(0.0f, 5.1f));
  EXPECT_EQ(positive.dtype, Dtype::u8);
  EXPECT_EQ(positive.params, (QuantParams{5.1f / 255.0f, 0}));
  const CodeType balanced = code_type_of(range(-4.8f, 5.08f));
  EXPECT_EQ(balanced.dtype, Dtype::s8);
  EXPECT_EQ(balanced.params, (QuantParams{5.08f / 127.0f, 0}));
  const CodeType one_sided = code_type_of(range(-0.25f, 6.125f));
  EXPECT_EQ(one_sided.dtype, Dtype::u8);
  EXPECT_EQ(one_sided.params, (QuantParams{0.025f, 10}));
  const CodeType negative = code_type_of(range(-5.1f, -1.0f));
  EXPECT_EQ(negative.dtype, Dtype::u8);
  EXPECT_EQ(negative.params.zero_point, 255);
  Range unknown;  // no maximum, as when nothing was measured
  unknown.min = -1.0f;
  unknown.threshold = 1.0f;
  EXPECT_EQ(code_type_of(unknown).dtype, Dtype::s8);
}

// A layer that is all but dead.
TEST(CodeType, ScalesAreNormalNumbers) {
  for (const f32 low : {0.0f, -1e-40f, -3e-38f}) {
    const CodeType dead = code_type_of(range(low, 3e-38f));
    EXPECT_TRUE(std::isnormal(dead.params.scale)) << low;
    const CodeRange codes = code_range(dead.dtype);
    EXPECT_TRUE(dead.params.zero_point >= codes.lo && dead.params.zero_point <= codes.hi) << low;
  }
}

TEST(NarrowTableInputs, CutsTheFlatTailOfSwish) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,2,4,4]) {
    %y: f32[1,2,4,4] = Swish(%x) name "y"
    return %y
  })",
                            find_op);
  graph.nodes[0].decision.precision = Precision::int8;
  Ranges ranges{{value(graph, "x"), range(-60.0f, 20.0f)},
                {value(graph, "y"), range(-0.28f, 20.0f)}};
  narrow_table_inputs(graph, ranges);
  const Range& x = ranges.at(value(graph, "x"));
  EXPECT_GT(x.min, -8.0f);
  EXPECT_LT(x.min, -4.0f);
  EXPECT_EQ(x.max, 20.0f);
  EXPECT_EQ(x.threshold, 20.0f);
  const Range& y = ranges.at(value(graph, "y"));
  EXPECT_EQ(y.min, -0.28f);
}

// PyTorch writes the one slope of a PReLU as f32[1,1,1].
TEST(NarrowTableInputs, TakesConstantsOfOneElementOfAnyRank) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,2,4,4]) {
    const %slope: f32[1,1,1] = {0.0}
    %y: f32[1,2,4,4] = PRelu(%x, %slope) name "y"
    return %y
  })",
                            find_op);
  graph.nodes[0].decision.precision = Precision::int8;
  Ranges ranges{{value(graph, "x"), range(-10.0f, 10.0f)}, {value(graph, "y"), range(0.0f, 10.0f)}};
  narrow_table_inputs(graph, ranges);
  EXPECT_GT(ranges.at(value(graph, "x")).min, -0.1f);
}

TEST(NarrowTableInputs, LeavesWhatOthersReadToo) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,2,4,4]) {
    %y: f32[1,2,4,4] = Swish(%x) name "y"
    %z: f32[1,2,4,4] = Abs(%x) name "z"
    return %y, %z
  })",
                            find_op);
  for (Node& node : graph.nodes) node.decision.precision = Precision::int8;
  Ranges ranges{{value(graph, "x"), range(-60.0f, 20.0f)},
                {value(graph, "y"), range(-0.28f, 20.0f)}};
  narrow_table_inputs(graph, ranges);
  EXPECT_EQ(ranges.at(value(graph, "x")).min, -60.0f);
}

constexpr const char* kDepthwise = R"(graph "g"(%x: f32[1,2,4,4]) {
  const %w: f32[2,1,1,1] = {1, 3}
  %y: f32[1,2,4,4] = Conv(%x, %w) {group=2} name "conv"
  return %y
})";

// Half of what the model's outputs are made of rests on either channel.
const std::vector<f64> kBoth = {0.5, 0.5};

TEST(LostShare, AQuietChannelBesideALoudOne) {
  const Graph graph = parse_graph(kDepthwise, find_op);
  Range x = range(-127.0f, 127.0f), y = range(-127.0f, 127.0f);  // steps of 1
  x = seen(x, {1000.0, 1000.0}, {});
  y = seen(y, {1000.0, 9000.0}, {});
  EXPECT_LT(lost_share(graph, graph.nodes[0], x, y, kBoth), 1e-3);
  x = seen(x, {1000.0, 0.01}, {});
  y = seen(y, {1000.0, 0.09}, {});
  EXPECT_NEAR(lost_share(graph, graph.nodes[0], x, y, kBoth), 0.5,
              1e-3);  // all of one of two channels
  y = seen(y, {1000.0, 0.0}, {});
  EXPECT_LT(lost_share(graph, graph.nodes[0], x, y, kBoth), 1e-3);  // a dead channel
  EXPECT_EQ(lost_share(graph, graph.nodes[0], range(-1, 1), range(-1, 1), kBoth),
            0.0);  // not measured
}

TEST(LostShare, KeepsTheLayerInFloat) {
  Graph graph = parse_graph(kDepthwise, find_op);
  Range x = range(-127.0f, 127.0f), y = range(-127.0f, 127.0f);
  x = seen(x, {1000.0, 0.01}, {});
  y = seen(y, {1000.0, 0.09}, {});
  assign_precision(graph, {{value(graph, "x"), x}, {value(graph, "y"), y}}, {});
  EXPECT_EQ(graph.nodes[0].decision.precision, Precision::f32);
  EXPECT_EQ(graph.nodes[0].decision.code, ReasonCode::channel_loss);
  EXPECT_EQ(graph.nodes[0].decision.reason,
            "one scale for all channels of 'x' would cost 50.0 % of the model's outputs");
}

TEST(CorrectBiases, TakesOffWhatRoundedWeightsAdd) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,2,4,4]) {
    const %w: f32[1,2,1,1] = {127, 0.4}
    const %b: f32[1] = {7}
    %y: f32[1,1,4,4] = Conv(%x, %w, %b) name "conv"
    return %y
  })",
                            find_op);
  graph.nodes[0].decision.precision = Precision::int8;
  Range x = range(0.0f, 20.0f);
  x = seen(x, {}, {5.0, 10.0});
  WeightCodes codes;
  correct_biases(graph, {{value(graph, "x"), x}}, codes);
  // 0.4 became 0, so 4 of the mean are missing.
  EXPECT_NEAR(graph.constant_input(graph.nodes[0], 2)->as<f32>()[0], 11.0f, 1e-5f);
}

TEST(CorrectBiases, MakesABiasWhereThereIsNone) {
  Graph graph = parse_graph(kDepthwise, find_op);
  graph.nodes[0].decision.precision = Precision::int8;
  Range x = range(0.0f, 20.0f);
  x = seen(x, {}, {5.0, 10.0});
  WeightCodes codes;
  correct_biases(graph, {{value(graph, "x"), x}}, codes);
  ASSERT_NE(graph.constant_input(graph.nodes[0], 2), nullptr);
  EXPECT_NEAR(graph.constant_input(graph.nodes[0], 2)->as<f32>()[1], 0.0f, 1e-5f);  // each is exact
}

}  // namespace
}  // namespace octet
