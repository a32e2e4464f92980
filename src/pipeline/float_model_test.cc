// SPDX-License-Identifier: Apache-2.0
// One import, one calibration, many variants: each is what a build of its own would be.
#include "pipeline/float_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "data/npz.h"
#include "data/test_support.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "pipeline/normal_testing.h"
#include "runtime/engine_file.h"

namespace octet {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string ones(const Shape& shape) {
  const std::vector<int> values(static_cast<size_t>(shape.elements()), 1);
  return fmt::format("{{{}}}", fmt::join(values, ", "));
}

// Two convolutions, the second of which reads what a ReLU gives. Their windows are wide enough to be rounded together.
Graph two_convolutions() {
  Graph graph = parse_graph(R"(graph "two"(%x: f32[1,3,6,6]) {
    const %w1: f32[4,3,3,3] = )" +
                                ones({4, 3, 3, 3}) + R"(
    const %w2: f32[2,4,3,3] = )" +
                                ones({2, 4, 3, 3}) + R"(
    %a: f32[1,4,4,4] = Conv(%x, %w1) name "first" from ["/first"]
    %b: f32[1,4,4,4] = Relu(%a) name "relu" from ["/relu"]
    %y: f32[1,2,2,2] = Conv(%b, %w2) name "second" from ["/second"]
    return %y
  })",
                            find_op);
  for (const char* name : {"w1", "w2"}) {
    Value& weights = graph.value(graph.find_value(name));
    weights.constant = normal_tensor(weights.type.shape, static_cast<u32>(name[1]));
  }
  return graph;
}

class FloatModelTest : public testing::Test {
 protected:
  FloatModelTest() {
    const Tensor samples = normal_tensor({8, 3, 6, 6}, 7);
    write_npz(folder_ / "data.npz", std::vector<std::pair<std::string, Tensor>>{{"x", samples}});
    options_.data = folder_ / "data.npz";
  }
  FloatModel calibrated() const { return calibrate(optimize(two_convolutions(), {}), options_); }

  test::TempFolder folder_;
  CalibrationOptions options_;
};

PrecisionPlan int8_plan(std::vector<std::string> keep_float = {}) {
  PrecisionPlan plan;
  plan.int8 = true;
  plan.keep_float = std::move(keep_float);
  return plan;
}

Precision precision_of_node(const Model& model, std::string_view name) {
  const auto at = std::ranges::find(model.graph.nodes, name, &Node::name);
  return at == model.graph.nodes.end() ? Precision::none : at->decision.precision;
}

TEST_F(FloatModelTest, AVariantIsWhatABuildOfItsOwnGives) {
  const FloatModel kept = calibrated();
  for (const PrecisionPlan& plan : {int8_plan(), int8_plan({"second"}), PrecisionPlan{}}) {
    const auto alone = write_engine(quantize(calibrated(), plan));
    EXPECT_EQ(write_engine(quantize(kept, plan)), alone);
    EXPECT_EQ(write_engine(quantize(kept, plan)), alone);
  }
}

TEST_F(FloatModelTest, WeightsAreQuantizedOnce) {
  const FloatModel model = calibrated();
  const FloatModel copy = model;
  EXPECT_EQ(precision_of_node(quantize(model, int8_plan({"/second"})), "second"), Precision::f32);
  EXPECT_EQ(model.weight_codes->quantized(), 1);
  const Model both = quantize(copy, int8_plan());
  EXPECT_EQ(precision_of_node(both, "second"), Precision::int8);
  EXPECT_EQ(precision_of_node(both, "first"), Precision::int8);
  EXPECT_EQ(model.weight_codes->quantized(), 2);
  quantize(copy, int8_plan());
  quantize(with_method(copy, RangeRule::minmax), int8_plan());
  EXPECT_EQ(model.weight_codes->quantized(), 2);
}

TEST_F(FloatModelTest, AnotherMethodNeedsNoData) {
  const FloatModel model = calibrated();
  std::filesystem::remove(options_.data);
  CompileReport report;
  const Model minmax = quantize(with_method(model, RangeRule::minmax), int8_plan(), &report);
  EXPECT_EQ(minmax.range_method, "minmax");
  EXPECT_EQ(minmax.calibration_samples, 8);
  ASSERT_FALSE(report.ranges.empty());
  for (const Range& range : report.ranges) {
    EXPECT_EQ(range.method, RangeRule::minmax);
    EXPECT_EQ(range.threshold, std::max(std::abs(range.min), std::abs(range.max)));
    const auto& counts = range.seen->histogram;
    EXPECT_GT(std::accumulate(counts.begin(), counts.end(), u64{0}), 0u);
  }
  EXPECT_EQ(quantize(model, int8_plan()).range_method, "entropy");
}

TEST_F(FloatModelTest, QuantizingChangesNoFloatModel) {
  const FloatModel model = calibrated();
  const std::string before = print(*model.graph);
  const Ranges ranges = *model.ranges;
  quantize(model, int8_plan());
  EXPECT_EQ(print(*model.graph), before);
  for (const auto& [id, range] : ranges) EXPECT_EQ(model.ranges->at(id).min, range.min);
}

TEST_F(FloatModelTest, RangesOfTheCaller) {
  const FloatModel model = optimize(two_convolutions(), {});
  const Model assumed = quantize(with_assumed_ranges(model), int8_plan());
  EXPECT_EQ(precision_of_node(assumed, "first"), Precision::int8);
  EXPECT_EQ(assumed.range_method, "");
  EXPECT_EQ(assumed.preprocess, std::nullopt);
  // Of the input alone.
  Ranges one;
  one[model.graph->inputs[0]] = {.tensor = "x", .min = -1, .max = 1, .threshold = 1};
  const Model rest = quantize(with_ranges(model, one), int8_plan());
  const auto at = std::ranges::find(rest.graph.nodes, "second", &Node::name);
  ASSERT_NE(at, rest.graph.nodes.end());
  EXPECT_EQ(at->decision.code, ReasonCode::no_range);
}

TEST_F(FloatModelTest, WithoutRangesSaysWhichOptionHelps) {
  try {
    quantize(optimize(two_convolutions(), {}), int8_plan());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    EXPECT_EQ(error.field(), "CompileOptions.calibration");
  }
  try {
    quantize(calibrated(), int8_plan({"no such node"}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "PrecisionPlan.keep_float");
    EXPECT_THAT(error.message(), HasSubstr("'no such node'"));
  }
}

// Bisecting counts from the first pass, wherever the pipeline is resumed.
TEST_F(FloatModelTest, RewritesAreCountedThroughBothHalves) {
  const RewriteOptions all;
  const FloatModel model = with_assumed_ranges(optimize(two_convolutions(), all));
  const auto total = [](const std::vector<PassTrace>& passes) {
    return std::accumulate(passes.begin(), passes.end(), s64{0},
                           [](s64 sum, const PassTrace& pass) { return sum + pass.rewrites; });
  };
  CompileReport whole;
  quantize(model, int8_plan(), &whole);
  const s64 floats = total(model.passes);
  ASSERT_GT(floats, 0);
  ASSERT_GT(total(whole.passes), floats);
  PrecisionPlan stopped = int8_plan();
  stopped.rewrites.stop_after_rewrites = floats + 1;
  CompileReport part;
  quantize(model, stopped, &part);
  EXPECT_EQ(total(part.passes), floats + 1);
}

TEST_F(FloatModelTest, ASimulationMakesNoIntegerOperators) {
  const Graph graph = parse_graph(R"(graph "qdq"(%x: f32[1,4]) {
    const %s: f32[] = {0.5}
    const %z: s8[] = {0}
    %q: s8[1,4] = QuantizeLinear(%x, %s, %z) name "q"
    %d: f32[1,4] = DequantizeLinear(%q, %s, %z) name "d"
    %r: f32[1,4] = Relu(%d) name "relu"
    %q2: s8[1,4] = QuantizeLinear(%r, %s, %z) name "q2"
    %y: f32[1,4] = DequantizeLinear(%q2, %s, %z) name "d2"
    return %y
  })",
                                  find_op);
  const FloatModel model = optimize(graph, {});
  EXPECT_TRUE(model.carries_qdq);
  PrecisionPlan simulation;
  simulation.simulate = true;
  const auto operators = [](const Model& built) {
    std::string names;
    for (const Node& node : built.graph.nodes) names += std::string(node.op->name) + " ";
    return names;
  };
  EXPECT_THAT(operators(quantize(model, simulation)), HasSubstr("Relu"));
  EXPECT_THAT(operators(quantize(model, {})), Not(HasSubstr("Relu")));
}

}  // namespace
}  // namespace octet
