// SPDX-License-Identifier: Apache-2.0
// Random graphs in random groups of images give the bits of the scalar reference.
#include "plan/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "backends/cpu/device.h"
#include "core/check.h"
#include "graph/interpret.h"
#include "graph/propagate.h"
#include "ops/registry.h"
#include "runtime/bound_plan.h"
#include "runtime/random_graph_testing.h"

namespace octet {
namespace {

using test::GraphMaker;
using test::kZero;
using test::noise;

std::vector<Tensor> run(Plan plan, std::span<const Tensor> inputs, const Target& target) {
  std::vector<Tensor> outputs;
  for (const TensorType& type : plan.output_types) outputs.emplace_back(type.dtype, type.shape);
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(std::move(plan), queues, store);
  // The second run begins with what the first left behind.
  for (int i = 0; i < 2; ++i) bound.run(inputs, outputs);
  return outputs;
}

std::vector<BatchShare> random_shares(size_t nodes, s64 batch, u32 seed) {
  std::mt19937 random(seed);
  std::vector<BatchShare> shares(nodes);
  for (size_t n = 0; n < nodes; ++n) {
    // Long runs, and changes within.
    const s64 groups = 1 + static_cast<s64>(random() % static_cast<u64>(batch));
    const bool by_thread = random() % 2 == 0;
    shares[n] = n > 0 && random() % 4 != 0 ? shares[n - 1] : BatchShare{groups, by_thread};
  }
  return shares;
}

// What no group may do alone; else constants are the same for all images, of which there are at least two.
bool mixes_batch(const Graph& graph, const Node& node) {
  if (node.name.starts_with("Slice")) return true;
  if (node.name.starts_with("Transpose")) return node.attrs.ints("perm")[0] != 0;
  if (node.name.starts_with("QReduceMean")) return node.attrs.ints("axes")[0] == 0;
  const TensorType& last = graph.value(node.inputs.back()).type;
  return node.name.starts_with("QAdd") && graph.is_constant(node.inputs[1]) && last.shape[0] > 1;
}

TEST(Groups, RandomGraphsInRandomGroups) {
  size_t in_groups = 0, by_thread = 0, moving = 0;
  for (u32 seed = 0; seed < 150; ++seed) {
    constexpr s64 kBatches[] = {2, 3, 4, 6};
    const s64 batch = kBatches[seed % 4];
    const Graph graph = GraphMaker(batch, seed).finish();
    const std::vector<Tensor> inputs = {noise({batch, 3, 12, 10}, seed)};
    const std::vector<Tensor> want = interpret(graph, inputs);
    const Target target = cpu_target(hardware_isa(), 1 + static_cast<int>(seed % 3));
    Plan plan = make_plan_in_groups(graph, std::vector<Shape>{{batch, 3, 12, 10}}, target,
                                    random_shares(graph.nodes.size(), batch, seed));
    for (const PlanStep& step : plan.steps) {
      if (step.share.groups == 1) continue;
      ++in_groups;
      by_thread += step.share.by_thread;
      if (step.node >= plan.graph.nodes.size()) continue;
      EXPECT_FALSE(mixes_batch(plan.graph, plan.graph.nodes[step.node])) << seed;
    }
    for (const Buffer& buffer : plan.buffers) moving += buffer.groups > 1;
    const std::vector<Tensor> got = run(std::move(plan), inputs, target);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].type(), want[i].type());
      ASSERT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0) << seed << " " << i;
    }
  }
  EXPECT_GT(in_groups, 300u);
  EXPECT_GT(by_thread, 100u);
  EXPECT_GT(moving, 100u);
}

// Results are empty, so this says only that every kernel takes a batch of nothing.
TEST(Groups, NoImages) {
  const std::vector<Tensor> inputs = {Tensor(Dtype::f32, {0, 3, 12, 10})};
  const std::vector<Shape> shapes = {inputs[0].shape()};
  for (u32 seed = 0; seed < 40; ++seed) {
    const Graph graph = GraphMaker(0, seed).finish();
    for (Isa isa : kIsaLevels) {
      if (!hardware_has(isa)) continue;
      const Target target = cpu_target(isa, 2);
      EXPECT_EQ(run(make_plan(graph, shapes, target), inputs, target)[0].bytes(), 0u);
    }
  }
}

Node node_of(const char* op, std::vector<ValueId> inputs, ValueId output) {
  Node node;
  node.op = find_op(op);
  node.name = op;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

// Anchors of two maps side by side, as detectors leave them.
Graph turned_and_joined() {
  Graph graph;
  const auto value = [&](const char* name, const Shape& shape) {
    const ValueId id = graph.add_value(name, {Dtype::u8, shape});
    graph.value(id).quant = {0.05f, static_cast<s32>(kZero)};
    return id;
  };
  const ValueId x = value("x", {6, 8, 4, 5}), turned = value("turned", {6, 4, 5, 8}),
                rows = value("rows", {6, 20, 8}), all = value("all", {6, 40, 8}),
                flat = value("flat", {240, 8});
  Tensor three(Dtype::s64, {3}), two(Dtype::s64, {2});
  std::ranges::copy(std::vector<s64>{6, 20, 8}, three.mutable_as<s64>().begin());
  std::ranges::copy(std::vector<s64>{240, 8}, two.mutable_as<s64>().begin());
  graph.inputs = {x};
  graph.nodes = {node_of("Transpose", {x}, turned),
                 node_of("Reshape", {turned, graph.add_constant("three", three)}, rows),
                 node_of("Concat", {rows, rows}, all),
                 node_of("Reshape", {all, graph.add_constant("two", two)}, flat)};
  graph.nodes[0].attrs.set("perm", std::vector<s64>{0, 2, 3, 1});
  graph.nodes[2].attrs.set("axis", s64{1});
  graph.outputs = {flat};
  return graph;
}

// But for the last step, which leaves no batch.
TEST(Groups, WhatTurnsAndJoinsImagesRunsByImage) {
  const Graph graph = turned_and_joined();
  const std::vector<Shape> shapes = {{6, 8, 4, 5}};
  Tensor x(Dtype::u8, shapes[0]);
  std::mt19937 random(1);
  for (u8& code : x.mutable_as<u8>()) code = static_cast<u8>(random() % 256);
  const std::vector<Tensor> inputs = {x};
  const Target target = cpu_target(hardware_isa(), 3);
  for (const BatchShare share : {BatchShare{6, false}, BatchShare{3, true}, BatchShare{6, true}}) {
    Plan plan = make_plan_in_groups(graph, shapes, target, {4, share});
    for (const PlanStep& step : plan.steps) {
      if (step.node > 3) continue;
      EXPECT_EQ(step.share, step.node < 3 ? share : BatchShare{}) << step.name;
    }
    const Tensor got = run(std::move(plan), inputs, target)[0], want = interpret(graph, inputs)[0];
    ASSERT_EQ(got.type(), want.type());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
  }
}

// Two convolutions of large maps and small weights, then one whose weights outweigh its maps.
Graph early_and_late() {
  Graph graph;
  const Shape large{Shape::kDynamic, 16, 64, 64}, small{Shape::kDynamic, 256, 4, 4};
  const auto value = [&](const char* name, const Shape& shape) {
    const ValueId id = graph.add_value(name, {Dtype::u8, shape});
    graph.value(id).quant = {0.05f, static_cast<s32>(kZero)};
    return id;
  };
  const auto conv = [&](ValueId x, ValueId y, const Shape& weights, s64 stride) {
    Node node;
    node.op = find_op("QConv");
    node.name = graph.value(y).name;
    Tensor w(Dtype::s8, weights), m(Dtype::f32, {weights[0]});
    for (s8& q : w.mutable_as<s8>()) q = 3;
    for (f32& v : m.mutable_as<f32>()) v = 0.01f;  // images differ to the end
    node.inputs = {x, graph.add_constant("w", w), kNoValue, graph.add_constant("m", m)};
    node.outputs = {y};
    node.attrs.set("input_zero_points", std::vector<s64>{kZero, 0, 0, 0});
    node.attrs.set("output_dtype", std::string("u8"));
    node.attrs.set("output_zero_point", kZero);
    node.attrs.set("lo", s64{0});
    node.attrs.set("hi", s64{255});
    node.attrs.set("strides", std::vector<s64>{stride, stride});
    graph.nodes.push_back(std::move(node));
  };
  const ValueId x = value("x", large), a = value("a", large), b = value("b", large),
                c = value("c", small), d = value("d", small);
  graph.inputs = {x};
  conv(x, a, {16, 16, 1, 1}, 1);
  conv(a, b, {16, 16, 1, 1}, 1);
  conv(b, c, {256, 16, 1, 1}, 16);
  conv(c, d, {256, 256, 1, 1}, 1);
  graph.outputs = {d};
  return graph;
}

std::vector<BatchShare> chosen_shares(s64 batch, s64 cache_bytes, int threads) {
  const CpuDevice device(hardware_isa(), cache_bytes);
  const Plan plan = make_plan(early_and_late(), std::vector<Shape>{{batch, 16, 64, 64}},
                              cpu_target(device, threads));
  std::vector<BatchShare> shares(plan.graph.nodes.size());
  for (const PlanStep& step : plan.steps) {
    if (step.node < shares.size()) shares[step.node] = step.share;
  }
  return shares;
}

std::vector<s64> chosen_groups(s64 batch, s64 cache_bytes) {
  std::vector<s64> groups;
  for (const BatchShare& share : chosen_shares(batch, cache_bytes, 1)) {
    EXPECT_FALSE(share.by_thread);
    groups.push_back(share.groups);
  }
  return groups;
}

TEST(Groups, LargeMapsOfFewWeightsGoImageByImage) {
  EXPECT_EQ(chosen_groups(8, 200 << 10), (std::vector<s64>{8, 8, 8, 1}));
  EXPECT_EQ(chosen_groups(8, 400 << 10), (std::vector<s64>{4, 4, 4, 1}));
  EXPECT_EQ(chosen_groups(8, 16 << 20), (std::vector<s64>{1, 1, 1, 1}));
  EXPECT_EQ(chosen_groups(1, 200 << 10), (std::vector<s64>{1, 1, 1, 1}));
  EXPECT_EQ(chosen_groups(7, 200 << 10), (std::vector<s64>{7, 7, 7, 1}));
}

TEST(Groups, ThreadsTakeWholeImages) {
  for (const int threads : {2, 4, 16}) {
    for (const BatchShare& share : chosen_shares(16, 400 << 10, threads)) {
      EXPECT_TRUE(share.by_thread) << threads;
      EXPECT_GE(share.groups, threads);
    }
  }
}

TEST(Groups, AnErrorOfAStepThatOneThreadRunsIsThatOfTheRun) {
  const Target target = cpu_target(hardware_isa(), 4);
  const CpuDevice device(hardware_isa(), 400 << 10);
  Plan plan =
      make_plan(early_and_late(), std::vector<Shape>{{16, 16, 64, 64}}, cpu_target(device, 4));
  const auto step =
      std::ranges::find_if(plan.steps, [](const PlanStep& s) { return s.share.by_thread; });
  ASSERT_NE(step, plan.steps.end());
  bool fails = true;
  step->candidate.prepare = nullptr;
  step->candidate.bind = [&fails](const BindArgs&) -> RunStep {
    return [&fails](const StepArgs&) {
      if (fails) fail(Error::Code::out_of_memory, "no room for this image");
    };
  };
  const Tensor input(Dtype::u8, {16, 16, 64, 64});
  std::vector<Tensor> output = {Tensor(plan.output_types[0].dtype, plan.output_types[0].shape)};
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(std::move(plan), queues, store);
  EXPECT_THROW(bound.run({&input, 1}, output), Error);
  fails = false;
  EXPECT_NO_THROW(bound.run({&input, 1}, output)) << "the error is gone with its run";
}

TEST(Groups, ThreadsShareASingleImage) {
  for (const BatchShare& share : chosen_shares(1, 400 << 10, 16)) EXPECT_EQ(share, BatchShare{});
}

TEST(Groups, SameCodesForAnyBatch) {
  const Graph graph = early_and_late();
  const CpuDevice device(hardware_isa(), 100 << 10);
  const Target target = cpu_target(device, 2);
  for (s64 batch : {0, 1, 3, 8}) {
    Tensor x(Dtype::u8, {batch, 16, 64, 64});
    std::mt19937 random(1);
    for (u8& code : x.mutable_as<u8>()) code = static_cast<u8>(random() % 256);
    const std::vector<Tensor> inputs = {x};
    const std::vector<Shape> shapes = {x.shape()};
    const std::vector<Tensor> got = run(make_plan(graph, shapes, target), inputs, target);
    const Tensor want = interpret(graph, inputs)[0];
    ASSERT_EQ(got[0].type(), want.type());
    EXPECT_EQ(std::memcmp(got[0].data(), want.data(), want.bytes()), 0) << batch;
  }
}

// A visitor that fails in a later group leaves nothing behind: the next run begins with the first image.
TEST(Groups, RunsAfterAnError) {
  const Shape shape{4, 16, 64, 64};
  const Graph graph = early_and_late();
  const CpuDevice device(hardware_isa(), 100 << 10);
  const Target target = cpu_target(device);
  Queues queues(target);
  Tensor x(Dtype::u8, shape);
  std::mt19937 random(1);
  for (u8& code : x.mutable_as<u8>()) code = static_cast<u8>(random() % 256);
  const std::vector<Tensor> inputs = {x};
  PreparedStore store;
  BoundPlan bound(make_plan(graph, std::vector<Shape>{shape}, target), queues, store);
  std::vector<Tensor> outputs = {Tensor(Dtype::u8, {4, 256, 4, 4})};
  const auto fail_late = [&](size_t s, const StepArgs& args, s64 group) {
    if (group == 2) throw std::runtime_error("late");
    bound.run_step(s, args);
  };
  EXPECT_THROW(bound.visit_steps(inputs, outputs, fail_late), std::runtime_error);
  bound.run(inputs, outputs);
  const Tensor want = interpret(graph, inputs)[0];
  EXPECT_EQ(std::memcmp(outputs[0].data(), want.data(), want.bytes()), 0);
}

TEST(Groups, LessMemory) {
  const std::vector<Shape> shapes = {{8, 16, 64, 64}};
  const auto arena = [&](s64 cache_bytes) {
    const CpuDevice device(hardware_isa(), cache_bytes);
    return make_plan(early_and_late(), shapes, cpu_target(device)).arena_bytes();
  };
  EXPECT_LT(arena(200 << 10), arena(16 << 20) / 3);
}

}  // namespace
}  // namespace octet
