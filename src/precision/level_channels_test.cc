// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization in INT8: what its input's codes cost, and convolutions
// that give each channel all of the codes.
#include "precision/level_channels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/quantized/weight_codes.h"
#include "ops/registry.h"
#include "precision/range_testing.h"

namespace octet {
namespace {

// Channel 1 of the first convolution is a thousandth of channel 0, beside an
// offset.
constexpr const char* kConv = R"(graph "g"(%x: f32[1,2,4,4]) {
  const %w: f32[2,2,1,1] = {1.0, -2.0, 0.001, 0.003}
  const %b: f32[2] = {0.5, 0.125}
  const %one: f32[2] = {1.0, 2.0}
  const %zero: f32[2] = {0.0, -1.0}
  const %v: f32[1,2,1,1] = {1.0, 1.0}
  %a: f32[1,2,4,4] = Conv(%x, %w, %b) name "first"
  %n: f32[1,2,4,4] = InstanceNormalization(%a, %one, %zero) {epsilon=1e-12} name "norm"
  %y: f32[1,1,4,4] = Conv(%n, %v) name "second"
  return %y
})";

constexpr const char* kTransposed = R"(graph "g"(%x: f32[1,2,4,4]) {
  const %w: f32[2,1,2,2] = {1.0, -2.0, 3.0, 4.0, 0.01, 0.02, 0.03, -0.01}
  const %one: f32[2] = {1.0, 2.0}
  const %zero: f32[2] = {0.0, -1.0}
  const %v: f32[1,2,1,1] = {1.0, 1.0}
  const %from: s64[2] = {1, 1}
  const %to: s64[2] = {7, 7}
  const %axes: s64[2] = {2, 3}
  %a: f32[1,2,8,8] = ConvTranspose(%x, %w) {group=2, strides=ints[2, 2]} name "first"
  %c: f32[1,2,6,6] = Slice(%a, %from, %to, %axes) name "crop"
  %n: f32[1,2,6,6] = InstanceNormalization(%c, %one, %zero) {epsilon=1e-09} name "norm"
  %y: f32[1,1,6,6] = Conv(%n, %v) name "second"
  return %y
})";

struct Channel {
  f64 mean, variance, low, high;
};

Range seen(Range range, const std::vector<Channel>& channels) {
  TensorStatistics statistics;
  for (const Channel& c : channels) {
    statistics.channel_mean.push_back(c.mean);
    statistics.channel_power.push_back(c.variance + c.mean * c.mean);
    statistics.channel_min.push_back(c.low);
    statistics.channel_max.push_back(c.high);
  }
  range.seen = std::make_shared<TensorStatistics>(std::move(statistics));
  return range;
}

Ranges ranges_of(const Graph& graph, const char* before_norm,
                 const std::vector<Channel>& channels) {
  f64 low = 0, high = 0;
  for (const Channel& c : channels) {
    low = std::min(low, c.low);
    high = std::max(high, c.high);
  }
  Ranges ranges;
  for (ValueId id : values_to_observe(graph)) ranges[id] = range(-4, 4);
  ranges[graph.find_value("a")] = range(static_cast<f32>(low), static_cast<f32>(high));
  ranges[graph.find_value(before_norm)] =
      seen(range(static_cast<f32>(low), static_cast<f32>(high)), channels);
  return ranges;
}

const Node& node(const Graph& graph, std::string_view name) {
  return *std::ranges::find(graph.nodes, name, &Node::name);
}

const std::vector<Channel> kQuiet = {{0.5, 4, -6, 7}, {0.125, 1e-5, 0.11, 0.14}};

TEST(LevelChannels, AQuietChannelGetsAllCodes) {
  Graph graph = parse_graph(kConv, find_op);
  Ranges ranges = ranges_of(graph, "a", kQuiet);
  assign_precision(graph, ranges, {});
  EXPECT_EQ(node(graph, "norm").decision.precision, Precision::int8);
  const Graph before = graph;
  const ValueId a = graph.find_value("a");
  level_channels(graph, ranges);
  EXPECT_EQ(graph.value(a).name, "a.leveled");
  EXPECT_EQ(ranges.at(a).min, -6.5f);
  EXPECT_EQ(ranges.at(a).max, 6.5f);
  EXPECT_EQ(ranges.at(a).threshold, 6.5);
  const Tensor& w = *graph.constant_input(node(graph, "first"), 1);
  const Tensor& b = *graph.constant_input(node(graph, "first"), 2);
  EXPECT_EQ(w.as<f32>()[0], 1.0f);
  EXPECT_NEAR(w.as<f32>()[2], 0.001 * 6.5 / 0.015, 1e-3);
  EXPECT_EQ(b.as<f32>()[0], 0.0f);
  // What the normalizations give is the same.
  Tensor x(Dtype::f32, Shape{1, 2, 4, 4});
  for (size_t i = 0; i < 32; ++i) x.mutable_as<f32>()[i] = std::sin(static_cast<f32>(i * i));
  const Tensor want = interpret(before, {&x, 1})[0], got = interpret(graph, {&x, 1})[0];
  for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(got.as<f32>()[i], want.as<f32>()[i], 1e-4f) << i;
}

TEST(LevelChannels, WhatWouldBeNoNumberStaysAsItIs) {
  Graph graph = parse_graph(kConv, find_op);
  Ranges ranges = ranges_of(graph, "a", {{0, 1e70, -3e38, 3e38}, {0, 1, -1e-6, 1e-6}});
  for (Node& each : graph.nodes) each.decision.precision = Precision::int8;
  level_channels(graph, ranges);
  EXPECT_NE(graph.find_value("a"), kNoValue);
}

TEST(LevelChannels, ThroughACropOfATransposedConvolution) {
  Graph graph = parse_graph(kTransposed, find_op);
  Ranges ranges = ranges_of(graph, "c", {{0, 4, -8, 8}, {0, 0.01, -0.3, 0.1}});
  for (Node& each : graph.nodes) each.decision.precision = Precision::int8;
  const Graph before = graph;
  level_channels(graph, ranges);
  for (const char* name : {"a.leveled", "c.leveled"}) {
    ASSERT_NE(graph.find_value(name), kNoValue) << name;
    EXPECT_EQ(ranges.at(graph.find_value(name)).threshold, 8.0) << name;
  }
  Tensor x(Dtype::f32, Shape{1, 2, 4, 4});
  for (size_t i = 0; i < 32; ++i) x.mutable_as<f32>()[i] = std::sin(static_cast<f32>(i * i));
  const Tensor want = interpret(before, {&x, 1})[0], got = interpret(graph, {&x, 1})[0];
  for (size_t i = 0; i < 36; ++i) EXPECT_NEAR(got.as<f32>()[i], want.as<f32>()[i], 1e-4f) << i;
}

TEST(LevelChannels, LongTailsStayReal) {
  Graph graph = parse_graph(kConv, find_op);
  const Ranges ranges = ranges_of(graph, "a", {{0, 4, -60, 60}, {0, 4, -60, 60}});
  assign_precision(graph, ranges, {});
  const Decision& decision = node(graph, "norm").decision;
  EXPECT_EQ(decision.precision, Precision::f32);
  EXPECT_EQ(decision.code, ReasonCode::kept_for_accuracy);
  EXPECT_EQ(decision.reason,
            "codes of 'a' would cost 0.465 % of what it "
            "reads, more than 0.040 (docs/adr/0010)");
}

// Epsilon counts in a channel that is not far livelier, so that it is not made wider: within the codes of a wide one it would be lost.
TEST(LevelChannels, AChannelThatIsNotMadeWiderStaysReal) {
  Graph graph = parse_graph(kConv, find_op);
  const auto lost = [&](f64 deviation, f32 epsilon) {
    for (Node& each : graph.nodes)
      if (each.name == "norm") each.attrs.set("epsilon", epsilon);
    const Ranges ranges = ranges_of(
        graph, "a", {{0, 4, -6, 6}, {0, deviation * deviation, -3 * deviation, 3 * deviation}});
    return *lost_by_normalization(graph, Uses(graph), node(graph, "norm"), ranges);
  };
  EXPECT_LT(lost(0.01, 1e-12f), 0.0004);  // made wider
  EXPECT_GT(lost(0.01, 1e-5f), 0.4);      // all of one channel of two
  EXPECT_LT(lost(1e-6, 1e-5f), 0.0004);   // nothing to lose
}

TEST(LevelChannels, WhatWasNotMeasuredStaysReal) {
  Graph graph = parse_graph(kConv, find_op);
  Ranges ranges = ranges_of(graph, "a", kQuiet);
  ranges[graph.find_value("a")].seen = nullptr;
  assign_precision(graph, ranges, {});
  EXPECT_EQ(node(graph, "norm").decision.reason,
            "calibration does not know what codes of 'a' would cost (docs/adr/0010)");
}

// The Relu behind a normalization is the lower end of its codes.
TEST(LevelChannels, NothingIsRoundedBeforeARelu) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,2,4,4]) {
  const %w: f32[2,2,1,1] = {1.0, -2.0, 0.5, 0.25}
  const %one: f32[2] = {1.0, 2.0}
  const %zero: f32[2] = {0.0, -1.0}
  const %v: f32[1,2,1,1] = {1.0, 1.0}
  %a: f32[1,2,4,4] = Conv(%x, %w) name "first"
  %n: f32[1,2,4,4] = InstanceNormalization(%a, %one, %zero) {epsilon=1e-05} name "norm"
  %r: f32[1,2,4,4] = Relu(%n) name "relu"
  %y: f32[1,1,4,4] = Conv(%r, %v) name "second"
  return %y
})",
                            find_op);
  Ranges ranges = ranges_of(graph, "a", {{0.5, 4, -6, 7}, {0.125, 3, -5, 6}});
  assign_precision(graph, ranges, {});
  EXPECT_EQ(node(graph, "norm").decision.precision, Precision::int8);
  WeightCodes codes;
  place_qdq(graph, ranges, codes);
  const ValueId n = node(graph, "norm").outputs[0];
  EXPECT_EQ(node(graph, "relu").inputs[0], n);
  EXPECT_EQ(graph.find_value("n.codes"), kNoValue);
  EXPECT_NE(graph.find_value("r.codes"), kNoValue);
}

// An activation between them, a result that others read, or a residual: one
// scale for all channels.
TEST(LevelChannels, OnlyWhatTheNormalizationAloneReads) {
  Graph graph = parse_graph(kConv, find_op);
  graph.outputs.push_back(graph.find_value("a"));
  const Ranges ranges = ranges_of(graph, "a", kQuiet);
  const Uses uses(graph);
  const auto lost = lost_by_normalization(graph, uses, node(graph, "norm"), ranges);
  ASSERT_TRUE(lost);
  EXPECT_GT(*lost, 0.4);  // all of one channel of two
  for (Node& each : graph.nodes) each.decision.precision = Precision::int8;
  Ranges after = ranges;
  level_channels(graph, after);
  EXPECT_NE(graph.find_value("a"), kNoValue);
}

}  // namespace
}  // namespace octet
