// SPDX-License-Identifier: Apache-2.0
// Selection among forged kernels.
#include "plan/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/registry.h"
#include "plan/device_testing.h"
#include "plan/tuning.h"

namespace octet {
namespace {

using test::paper_target;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Candidate forged(const char* kernel, f64 cost, Layout layout = Layout::linear) {
  Candidate candidate;
  candidate.kernel = kernel;
  candidate.inputs = {layout};
  candidate.outputs = {layout};
  candidate.cost = cost;
  return candidate;
}

Offer refuses(const LowerRequest&) { return Reject{"it is Tuesday"}; }
Offer costs_90(const LowerRequest&) { return forged("ninety", 90); }
Offer costs_30(const LowerRequest&) { return forged("thirty", 30); }
Offer offers_two(const LowerRequest&) { return Candidates{forged("fifty", 50), forged("ten", 10)}; }
Offer costs_20_in_nhwc(const LowerRequest&) { return forged("twenty_nhwc", 20, Layout::nhwc); }
Offer costs_nothing_known(const LowerRequest&) { return forged("unknown", 0); }
Offer costs_10_but_close(const LowerRequest&) {
  Candidate candidate = forged("close", 10);
  candidate.close = true;
  return candidate;
}
Offer is_close(const LowerRequest&) {
  Candidate candidate = forged("close_first", 0);
  candidate.close = true;
  return candidate;
}
int level_of(const LowerRequest& request) {
  return static_cast<const test::PaperDevice*>(request.target.device)->number();
}
// Another kernel on every instruction set, as families choose a row of their table.
Offer by_level(const LowerRequest& request) {
  return forged(level_of(request) >= 2 ? "row_2" : "row_1", 50);
}

Candidate reference(const LowerRequest&) { return forged("reference", 0); }

Selection select_among(std::vector<Lowering> lowerings, const Target& target = paper_target()) {
  static const Graph graph = parse_graph(R"(graph "g"(%x: f32[1,4,8,8]) {
    %y: f32[1,4,8,8] = Relu(%x) name "relu"
    return %y
  })",
                                         find_op);
  Backend backend;
  backend.name = "forged";
  backend.lowerings = lowerings;
  backend.reference = reference;
  const TensorType type = graph.value(graph.inputs[0]).type;
  return select_kernel({graph, graph.nodes[0], {type}, {type}, {Layout::linear}, target}, backend);
}

TEST(Select, LeastCostOfThoseThatAccept) {
  const Selection selection = select_among({{"Relu", "lower_none", refuses},
                                            {"Relu", "lower_90", costs_90},
                                            {"Relu", "lower_30", costs_30},
                                            {"Abs", "lower_20", costs_nothing_known}});
  EXPECT_EQ(selection.chosen.kernel, "thirty");
  EXPECT_THAT(selection.rejects, ElementsAre("lower_none: it is Tuesday",
                                             "ninety: costs 3.00 times as much as thirty"));
  EXPECT_TRUE(selection.others.empty());
}

TEST(Select, KernelsOfOneLoweringCompeteLikeThoseOfSeveral) {
  const Selection selection =
      select_among({{"Relu", "lower_two", offers_two}, {"Relu", "lower_30", costs_30}});
  EXPECT_EQ(selection.chosen.kernel, "ten");
  EXPECT_THAT(selection.rejects, ElementsAre("fifty: costs 5.00 times as much as ten",
                                             "thirty: costs 3.00 times as much as ten"));
}

TEST(Select, ChangesOfLayoutAreCounted) {
  const Selection selection =
      select_among({{"Relu", "lower_20", costs_20_in_nhwc}, {"Relu", "lower_90", costs_90}});
  EXPECT_EQ(selection.chosen.kernel, "ninety");
}

TEST(Select, WithoutCostsTheOrderDecides) {
  const Selection selection = select_among(
      {{"Relu", "lower_unknown", costs_nothing_known}, {"Relu", "lower_30", costs_30}});
  EXPECT_EQ(selection.chosen.kernel, "unknown");
  EXPECT_THAT(selection.rejects, ElementsAre("thirty: unknown comes first"));
}

TEST(Select, ACloseResultReplacesNoExactOne) {
  const Selection exact =
      select_among({{"Relu", "lower_90", costs_90}, {"Relu", "lower_10", costs_10_but_close}});
  EXPECT_EQ(exact.chosen.kernel, "ninety");
  EXPECT_THAT(exact.rejects, ElementsAre("close: its last bits may differ"));
  const Selection close =
      select_among({{"Relu", "lower_close", is_close}, {"Relu", "lower_90", costs_90}});
  EXPECT_EQ(close.chosen.kernel, "close_first");
}

TEST(Select, TheReferenceRunsWhatNobodyAccepts) {
  EXPECT_EQ(select_among({{"Relu", "lower_none", refuses}}).chosen.kernel, "reference");
  const Selection unknown = select_among({});
  EXPECT_EQ(unknown.chosen.kernel, "reference");
  ASSERT_EQ(unknown.rejects.size(), 1u);
  EXPECT_THAT(unknown.rejects[0], HasSubstr("no kernel for Relu"));
}

// What measuring adds does not change what is chosen.
Offer cheap_below_2(const LowerRequest& request) {
  if (level_of(request) >= 2) return Reject{"too good a machine"};
  return forged("cheap_and_low", 1);
}

TEST(Select, LowerLevelsCompeteForMeasuringOnly) {
  Target target = paper_target();
  target.keep_others = true;
  const Selection selection = select_among(
      {{"Relu", "lower_cheap", cheap_below_2}, {"Relu", "lower_30", costs_30}}, target);
  EXPECT_EQ(selection.chosen.kernel, "thirty");
  ASSERT_EQ(selection.others.size(), 1u);
  EXPECT_EQ(selection.others[0].kernel, "cheap_and_low");
  EXPECT_THAT(selection.rejects, ElementsAre("lower_cheap: too good a machine",
                                             "cheap_and_low: belongs to a lesser device"));
}

TEST(Select, KeepsTheOthersForMeasuring) {
  Target target = paper_target();
  target.keep_others = true;
  const Selection selection =
      select_among({{"Relu", "lower_by_level", by_level}, {"Relu", "lower_30", costs_30}}, target);
  EXPECT_EQ(selection.chosen.kernel, "thirty");
  ASSERT_EQ(selection.others.size(), 2u);
  EXPECT_EQ(selection.others[0].kernel, "row_2");
  EXPECT_EQ(selection.others[1].kernel, "row_1");
}

Target tuned_to(const char* kernel, int threads = 1) {
  Target target = paper_target();
  auto tuning = std::make_shared<Tuning>();
  TuningKey key{target.device->identity(), "3", threads, "Relu(f32[1,4,8,8]) -> f32[1,4,8,8]"};
  tuning->set(key, {kernel, 1.5});
  target.tuning = tuning;
  return target;
}

TEST(SelectTuned, MeasurementBeatsTheEstimate) {
  const Selection selection = select_among(
      {{"Relu", "lower_90", costs_90}, {"Relu", "lower_30", costs_30}}, tuned_to("ninety"));
  EXPECT_EQ(selection.chosen.kernel, "ninety");
  EXPECT_EQ(to_string(selection.choice), "by tuning");
  EXPECT_THAT(selection.rejects, ElementsAre("thirty: ninety was measured to be faster"));
}

TEST(SelectTuned, FindsKernelsOfLowerLevels) {
  const std::vector<Lowering> lowerings = {{"Relu", "lower_by_level", by_level}};
  EXPECT_EQ(select_among(lowerings, tuned_to("row_1")).chosen.kernel, "row_1");
  EXPECT_EQ(select_among(lowerings, tuned_to("row_2")).chosen.kernel, "row_2");
}

TEST(SelectTuned, WhatIsNotOfferedFallsBackToTheCost) {
  const Selection selection = select_among(
      {{"Relu", "lower_90", costs_90}, {"Relu", "lower_30", costs_30}}, tuned_to("gone"));
  EXPECT_EQ(selection.chosen.kernel, "thirty");
  EXPECT_EQ(to_string(selection.choice), "by cost; the tuned kernel gone is not offered");
  const Selection alone = select_among({{"Relu", "lower_90", costs_90}}, tuned_to("gone"));
  EXPECT_EQ(to_string(alone.choice), "the tuned kernel gone is not offered");
}

TEST(SelectTuned, NeverBringsACloseResult) {
  const Selection selection =
      select_among({{"Relu", "lower_90", costs_90}, {"Relu", "lower_10", costs_10_but_close}},
                   tuned_to("close"));
  EXPECT_EQ(selection.chosen.kernel, "ninety");
}

TEST(SelectTuned, HoldsForItsThreadsOnly) {
  const Selection selection = select_among(
      {{"Relu", "lower_90", costs_90}, {"Relu", "lower_30", costs_30}}, tuned_to("ninety", 2));
  EXPECT_EQ(selection.chosen.kernel, "thirty");
  EXPECT_EQ(to_string(selection.choice), "by cost");
}

TEST(SelectTuned, SignaturesTellLayersApart) {
  const Graph graph = parse_graph(R"(graph "g"(%x: u8[1,4,8,8]) {
    const %w: s8[4,4,1,1] = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}
    const %m: f32[] = {0.5}
    %y: u8[1,4,4,4] @(0.5, 0) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[3, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=0, strides=ints[2, 2]} name "conv"
    return %y
  })",
                                  find_op);
  const auto type = [&](const char* name) { return graph.value(graph.find_value(name)).type; };
  const Target target = paper_target();
  const LowerRequest asked{graph,
                           graph.nodes[0],
                           {type("x"), type("w"), {}, type("m")},
                           {type("y")},
                           {Layout::nhwc, Layout::linear, Layout::linear, Layout::linear},
                           target};
  EXPECT_EQ(layer_signature(asked),
            "QConv{hi=255,input_zero_points=ints[3, 0, 0, 0],lo=0,output_dtype=\"u8\","
            "output_zero_point=0,strides=ints[2, 2]}(u8[1,4,8,8] nhwc, s8[4,4,1,1] const, _, f32[] "
            "const) -> u8[1,4,4,4]");
}

// Its kernels are compiled side by side.
class CompilingDevice final : public test::PaperDevice {
 public:
  CompilingDevice() : PaperDevice(1) {}
  int preparations() const override { return 4; }
};

TEST(LikelyKernels, OnlyNearEstimatesWhereEachIsCompiled) {
  const std::vector<Candidate> kernels = {forged("chosen", 100), forged("twice", 200),
                                          forged("near", 140), forged("less", 90)};
  const auto names = [](const std::vector<Candidate>& of) {
    std::vector<std::string> all;
    for (const Candidate& candidate : of) all.push_back(candidate.kernel);
    return all;
  };
  EXPECT_THAT(names(likely_kernels(kernels, CompilingDevice())),
              ElementsAre("chosen", "near", "less"));
  EXPECT_EQ(likely_kernels(kernels, test::paper_device(1)).size(), 4u);
}

}  // namespace
}  // namespace octet
