// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "plan/device_testing.h"

namespace octet {
namespace {

// s8 in the middle, u8 at the edges, through every kind of node that relabelling treats apart.
constexpr std::string_view kS8 = R"(graph "g"(%x: f32[1,2,4,4]) {
  const %s: f32[] = {0.05}
  const %z: s8[] = {-3}
  const %w: s8[2,2,1,1] = {10, -20, 30, 40}
  const %m: f32[2] = {0.01, 0.02}
  const %pads: s64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  const %code: s8[] = {-3}
  %q: s8[1,2,4,4] @(0.05, -3) = QuantizeLinear(%x, %s, %z) name "q"
  %p: s8[1,2,6,6] @(0.05, -3) = Pad(%q, %pads, %code) name "pad"
  %c: s8[1,2,6,6] @(0.05, 4) = QConv(%p, %w, _, %m) {hi=120, input_zero_points=ints[-3, 0, 0, 0], lo=-100, output_dtype="s8", output_zero_point=4} name "conv"
  %l: s8[1,2,6,6] @(0.05, 0) = QAdd(%c, %p) {hi=127, input_zero_points=ints[4, -3], lo=-128, multipliers=floats[1.0, 0.5], output_dtype="s8", output_zero_point=0} name "add"
  %n: s8[1,2,6,6] @(0.05, -7) = QConv(%l, %w, _, %m, _, _, %p) {hi=240, input_zero_points=ints[0, 0, 0, 0, 0, 0, -3], lo=3, output_dtype="u8", output_zero_point=132, sum_dtype="s8", sum_hi=99, sum_lo=-90, sum_multipliers=floats[0.8, 0.4], sum_own_zero_point=132, sum_zero_point=-7} name "sum"
  %y: f32[1,2,6,6] = DequantizeLinear(%n, %s) name "d"
  return %y
})";

Tensor ramp(const Shape& shape) {
  Tensor tensor(Dtype::f32, shape);
  f32 x = -4.0f;
  for (f32& v : tensor.mutable_as<f32>()) v = (x += 0.261f);
  return tensor;
}

TEST(Relabel, SameRealValuesInU8) {
  const Graph before = parse_graph(kS8, find_op);
  Graph after = before;
  relabel_s8(after);
  for (const char* name : {"q", "p", "c", "l", "n"})
    EXPECT_EQ(after.value(after.find_value(name)).type.dtype, Dtype::u8) << name;
  const std::vector<Tensor> inputs = {ramp({1, 2, 4, 4})};
  const Tensor a = interpret(before, inputs)[0], b = interpret(after, inputs)[0];
  for (size_t i = 0; i < a.as<f32>().size(); ++i) EXPECT_EQ(a.as<f32>()[i], b.as<f32>()[i]) << i;
}

// An absent attribute means 0, and the whole range of the codes: of s8 before, of u8 after.
TEST(Relabel, CodesOfNodesThatSayNothingOfZeroPoints) {
  const Graph before = parse_graph(R"(graph "g"(%x: f32[1,2,4,4]) {
    const %s: f32[] = {0.05}
    const %z: s8[] = {0}
    %q: s8[1,2,4,4] = QuantizeLinear(%x, %s, %z) name "q"
    %l: s8[1,2,4,4] = QAdd(%q, %q) {multipliers=floats[0.5, 0.25], output_dtype="s8"} name "add"
    %y: f32[1,2,4,4] = DequantizeLinear(%l, %s) name "d"
    return %y
  })",
                                   find_op);
  Graph after = before;
  relabel_s8(after);
  EXPECT_EQ(after.value(after.find_value("l")).type.dtype, Dtype::u8);
  const std::vector<Tensor> inputs = {ramp({1, 2, 4, 4})};
  const Tensor a = interpret(before, inputs)[0], b = interpret(after, inputs)[0];
  EXPECT_TRUE(std::ranges::equal(a.as<f32>(), b.as<f32>()));
}

TEST(Relabel, GraphOutputsKeepTheirType) {
  Graph graph = parse_graph(R"(graph "g"(%x: s8[4]) {
    const %shape: s64[2] = {2, 2}
    %y: s8[2,2] = Reshape(%x, %shape) name "r"
    return %y
  })",
                            find_op);
  relabel_s8(graph);
  EXPECT_EQ(graph.value(graph.outputs[0]).type.dtype, Dtype::s8);
}

TEST(Relabel, CodesWhoseZeroPointTheRunComputesStay) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[4], %z: s8[]) {
    const %s: f32[] = {0.05}
    const %zero: s8[] = {0}
    %q: s8[4] = QuantizeLinear(%x, %s, %z) name "q"
    %y: f32[4] = DequantizeLinear(%q, %s, %zero) name "y"
    return %y
  })",
                            find_op);
  relabel_s8(graph);
  EXPECT_EQ(graph.value(graph.find_value("q")).type.dtype, Dtype::s8);
}

TEST(Specialize, FoldsShapeArithmetic) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[?,6]) {
    const %two: s64[1] = {2}
    const %rest: s64[1] = {-1}
    const %zero: s64[1] = {0}
    %shape: s64[2] = Shape(%x) name "shape"
    %n: s64[1] = Gather(%shape, %zero) {axis=0} name "n"
    %target: s64[3] = Concat(%n, %two, %rest) {axis=0} name "target"
    %y: f32[?,2,3] = Reshape(%x, %target) name "y"
    return %y
  })",
                                  find_op);
  const Graph concrete = specialize(graph, std::vector<Shape>{{5, 6}});
  ASSERT_EQ(concrete.nodes.size(), 1u);
  EXPECT_EQ(concrete.value(concrete.outputs[0]).type.shape, (Shape{5, 2, 3}));
  EXPECT_THROW(specialize(graph, std::vector<Shape>{{5, 7}}), Error);
  EXPECT_THROW(specialize(graph, std::vector<Shape>{}), Error);
}

// Buffers that live at the same time never overlap, and the arena is not wasteful: a chain needs two buffers.
TEST(PlanMemory, ReusesDeadBuffers) {
  Plan plan;
  for (u32 b = 0; b < 6; ++b) {
    plan.graph.add_value("v" + std::to_string(b), {});
    plan.buffers.push_back({.value = b,
                            .kind = Buffer::Kind::arena,
                            .index = 0,
                            .bytes = 1000,
                            .offset = 0,
                            .origin_bytes = 0,
                            .placement = {}});
  }
  for (u32 b = 0; b + 1 < 6; ++b) {
    PlanStep step;
    step.inputs = {b};
    step.outputs = {b + 1};
    if (b == 0) step.inputs = {};
    plan.steps.push_back(std::move(step));
  }
  plan_memory(plan, 1, 0);
  for (u32 b = 1; b + 1 < 6; ++b) {
    const s64 a = plan.buffers[b].offset, c = plan.buffers[b + 1].offset;
    EXPECT_TRUE(a + 1000 <= c || c + 1000 <= a) << b;
  }
  EXPECT_LE(plan.arenas[kHost].workspace_offset, 2 * 1088);
}

// A chain of three values, of which the last may take the place of the first.
s64 chain_end(s64 threads, s64 cache_bytes) {
  Plan plan;
  plan.buffers.resize(3);
  for (u32 b = 0; b < 3; ++b) {
    plan.buffers[b].bytes = b == 0 ? 3000 : b * 1000;
    PlanStep step;
    if (b > 0) step.inputs = {b - 1};
    step.outputs = {b};
    plan.steps.push_back(std::move(step));
  }
  plan_memory(plan, threads, cache_bytes);
  return plan.arenas[kHost].workspace_offset;
}

TEST(PlanMemory, ForThreadsOnlyValuesOfOneSizeShareMemory) {
  EXPECT_EQ(chain_end(1, 1 << 20), 3072 + 1088);
  EXPECT_EQ(chain_end(2, 1 << 20), 3072 + 1088 + 2112);
}

TEST(PlanMemory, LeastMemoryWhereTheCachesDoNotHoldIt) {
  EXPECT_EQ(chain_end(2, 1000), chain_end(1, 1000));
}

// One buffer under two names lives as long as both: nothing is put over it in between.
TEST(PlanMemory, SharedBuffersLiveTogether) {
  Plan plan;
  plan.buffers.resize(4);
  for (Buffer& buffer : plan.buffers) buffer.bytes = 1000;
  plan.buffers[1].same_as = 0;
  const std::pair<std::vector<u32>, std::vector<u32>> steps[] = {
      {{}, {0}}, {{0}, {1}}, {{}, {2}}, {{2}, {3}}, {{1, 3}, {}}};
  for (const auto& [inputs, outputs] : steps) {
    PlanStep step;
    step.inputs = inputs;
    step.outputs = outputs;
    plan.steps.push_back(std::move(step));
  }
  plan_memory(plan, 1, 0);
  EXPECT_EQ(plan.buffers[0].offset, plan.buffers[1].offset);
  for (u32 b : {2u, 3u}) {
    const s64 a = plan.buffers[1].offset, c = plan.buffers[b].offset;
    EXPECT_TRUE(a + 1000 <= c || c + 1000 <= a) << b;
  }
}

// Buffers a step may write over: only those that nothing reads afterwards, and once in the step.
TEST(PlanMemory, OutputsTakeTheMemoryOfInputsThatEnd) {
  Plan plan;
  plan.buffers.resize(6);
  for (Buffer& buffer : plan.buffers) buffer.bytes = 1000;
  plan.buffers[4].bytes = 900;
  struct Step {
    std::vector<u32> inputs, outputs, overwrites;
  };
  const Step steps[] = {{{}, {0}, {}},      {{0}, {1}, {0}},            // 0 is read again
                        {{0, 1}, {2}, {0}}, {{1, 2, 2}, {3}, {2}},      // 2 is read twice
                        {{3}, {4}, {3}},    {{3, 1, 4}, {5}, {4, 1}}};  // 4 has another size
  for (const Step& s : steps) {
    PlanStep step;
    step.inputs = s.inputs;
    step.outputs = s.outputs;
    step.overwrites = s.overwrites;
    plan.steps.push_back(std::move(step));
  }
  plan_memory(plan, 1, 0);
  const std::vector<Buffer>& b = plan.buffers;
  EXPECT_NE(b[1].offset, b[0].offset);
  EXPECT_EQ(b[2].offset, b[0].offset);
  EXPECT_NE(b[3].offset, b[2].offset);
  EXPECT_NE(b[4].offset, b[3].offset);
  EXPECT_EQ(b[5].offset, b[1].offset);
  EXPECT_NE(b[1].offset, b[2].offset);
}

// Steps of this cost each, one after another, for two threads.
Plan chain_of(std::span<const f64> costs) {
  Plan plan;
  plan.devices = {&test::paper_device(1)};
  for (size_t s = 0; s < costs.size(); ++s) {
    PlanStep step;
    step.cost = costs[s];
    plan.steps.push_back(std::move(step));
  }
  choose_sharing(plan, 2);
  return plan;
}

TEST(Sharing, RowsOfShortStepsRunAlone) {
  for (const PlanStep& step : chain_of(std::vector<f64>(8, 5000)).steps)
    EXPECT_EQ(step.sharing, Sharing::alone);
  for (const PlanStep& step : chain_of(std::vector<f64>(7, 5000)).steps)
    EXPECT_EQ(step.sharing, Sharing::pieces);
  for (const PlanStep& step : chain_of(std::vector<f64>(8, 50000)).steps)
    EXPECT_EQ(step.sharing, Sharing::chunks);
}

// A step that is not short itself may fall into pieces that are.
TEST(Sharing, ShortPiecesStayWhole) {
  for (const PlanStep& step : chain_of(std::vector<f64>(8, 20000)).steps)
    EXPECT_EQ(step.sharing, Sharing::pieces);
}

TEST(Sharing, ShortStepsAmongLongOnesAreShared) {
  std::vector<f64> costs(20, 5000);
  costs[5] = costs[14] = 50000;
  const Plan plan = chain_of(costs);
  for (size_t s = 0; s < 20; ++s)
    EXPECT_EQ(plan.steps[s].sharing == Sharing::alone, s > 5 && s < 14) << s;
}

// Without an estimate the bytes decide, and floats stay with their kernel, which knows its work.
TEST(Sharing, BytesDecideWhereNoCostIsNamed) {
  for (const auto& [type, bytes, sharing] : {std::tuple{Dtype::u8, s64{1000}, Sharing::alone},
                                             {Dtype::u8, s64{150} << 10, Sharing::pieces},
                                             {Dtype::u8, s64{1} << 20, Sharing::chunks},
                                             {Dtype::f32, s64{1000}, Sharing::chunks}}) {
    Plan plan;
    plan.devices = {&test::paper_device(1)};
    const ValueId value = plan.graph.add_value("v", {type, {bytes}});
    Buffer buffer;
    buffer.value = value;
    buffer.bytes = bytes;
    plan.buffers.push_back(buffer);
    plan.steps.resize(8);
    for (PlanStep& step : plan.steps) step.outputs = {0};
    choose_sharing(plan, 2);
    for (const PlanStep& step : plan.steps) EXPECT_EQ(step.sharing, sharing) << bytes;
  }
}

}  // namespace
}  // namespace octet
