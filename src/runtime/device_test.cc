// SPDX-License-Identifier: Apache-2.0
// Plans of a device that is not the host, on the test device: the bits of the scalar reference, and nothing that crosses unseen.
#include "backends/test/device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "octet/engine.h"
#include "runtime/bound_plan.h"
#include "runtime/context.h"
#include "runtime/inside.h"
#include "runtime/model_testing.h"
#include "runtime/random_graph_testing.h"

namespace octet {
namespace {

using test::model_of;
using test::noise;

void expect_equal(std::span<const Tensor> got, std::span<const Tensor> want,
                  const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].type(), want[i].type());
    ASSERT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0)
        << what << ", output " << i;
  }
}

// Steps that read or write what is not in their own device's memory, copies apart.
size_t strayed(const Plan& plan) {
  size_t count = 0;
  for (const PlanStep& step : plan.steps) {
    if (is_crossing(plan, step)) continue;
    for (const std::vector<u32>* buffers : {&step.inputs, &step.outputs}) {
      for (const u32 b : *buffers)
        count += b != kNoBuffer && plan.buffers[b].space != step.device ? 1u : 0u;
    }
  }
  return count;
}

struct Counts {
  size_t device = 0, host = 0, crossings = 0, blocks = 0, in_groups = 0;
  size_t turned_by_host = 0;  // conversions of layouts

  void add(const Plan& plan) {
    for (const PlanStep& step : plan.steps) {
      // What the graph returns twice is copied there.
      const bool node = step.node < plan.graph.nodes.size();
      if (node) ++(step.device == kHost ? host : device);
      crossings += is_crossing(plan, step) ? 1u : 0u;
      const bool copies = !node && step.device == kHost && step.inputs.size() == 1;
      turned_by_host += copies && plan.buffers[step.inputs[0]].placement.layout !=
                                      plan.buffers[step.outputs[0]].placement.layout
                            ? 1u
                            : 0u;
      in_groups += step.device != kHost && step.share.groups > 1 ? 1u : 0u;
    }
    for (const Buffer& buffer : plan.buffers)
      blocks += buffer.placement.layout > Layout::nhwc ? 1u : 0u;
  }
};

Counts run_random_graphs(u32 first_device, u32 devices, bool in_groups) {
  Counts counts;
  for (u32 seed = 0; seed < 60; ++seed) {
    constexpr s64 kBatches[] = {1, 2, 4, 6};
    const s64 batch = kBatches[seed % 4];
    const Graph graph = test::GraphMaker(batch, seed).finish();
    const std::vector<Tensor> inputs = {noise({batch, 3, 12, 10}, seed)};
    const std::vector<Shape> shapes = {inputs[0].shape()};
    const Target target = make_target(fmt::format("test:{}", first_device + seed % devices),
                                      1 + static_cast<int>(seed % 3), nullptr);
    const std::vector<BatchShare> groups(in_groups ? graph.nodes.size() : 0, {batch, false});
    Plan plan = in_groups ? make_plan_in_groups(graph, shapes, target, groups)
                          : make_plan(graph, shapes, target);
    EXPECT_EQ(strayed(plan), 0u) << seed;
    counts.add(plan);
    std::vector<Tensor> outputs;
    for (const TensorType& type : plan.output_types) outputs.emplace_back(type.dtype, type.shape);
    Queues queues(target);
    PreparedStore store;
    BoundPlan bound(std::move(plan), queues, store);
    const std::vector<Tensor> want = interpret(graph, inputs);
    // The second run begins with what the first left behind.
    for (int run = 0; run < 2; ++run) {
      bound.run(inputs, outputs);
      expect_equal(outputs, want, fmt::format("seed {}, run {}", seed, run));
    }
  }
  return counts;
}

TEST(Device, RandomGraphsWhollyOnIt) {
  const Counts counts = run_random_graphs(0, 1, false);
  EXPECT_EQ(counts.host, 0u);
  EXPECT_EQ(counts.turned_by_host, 0u);
  EXPECT_GE(counts.crossings, 3u * 60);  // one input, two outputs
  EXPECT_GT(counts.blocks, 100u);
}

TEST(Device, RandomGraphsPartlyOnTheHost) {
  const Counts counts = run_random_graphs(1, 20, false);
  EXPECT_GT(counts.host, 100u);
  EXPECT_GT(counts.device, counts.crossings);
  EXPECT_GT(counts.crossings, 300u);
  EXPECT_GT(counts.blocks, 50u);
}

TEST(Device, RandomGraphsInGroupsOfImages) {
  EXPECT_GT(run_random_graphs(0, 20, true).in_groups, 50u);
}

// The suites would notice a plan that forgets to wait: some host step reads what its copy has not brought.
TEST(Device, AForgottenWaitIsSeen) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "it is a race";
#endif
  int wrong = 0;
  for (u32 seed = 0; seed < 40 && wrong == 0; ++seed) {
    const Graph graph = test::GraphMaker(2, seed).finish();
    const std::vector<Tensor> inputs = {noise({2, 3, 12, 10}, seed)};
    const Target target = make_target(fmt::format("test:{}", 1 + seed), 1, nullptr);
    Plan plan = make_plan(graph, std::vector<Shape>{inputs[0].shape()}, target);
    for (PlanStep& step : plan.steps) step.after = kNoStep;
    std::vector<Tensor> outputs;
    for (const TensorType& type : plan.output_types) outputs.emplace_back(type.dtype, type.shape);
    Queues queues(target);
    PreparedStore store;
    BoundPlan(std::move(plan), queues, store).run(inputs, outputs);
    const std::vector<Tensor> want = interpret(graph, inputs);
    for (size_t i = 0; i < want.size(); ++i)
      wrong += std::memcmp(outputs[i].data(), want[i].data(), want[i].bytes()) != 0 ? 1 : 0;
  }
  EXPECT_GT(wrong, 0);
}

// A constant and an input that the graph returns, and a value under two names, are the host's; data that size other data go
// through stages.
TEST(Device, OutputsThatNothingComputes) {
  const auto model = model_of(test::kUncomputedOutputs);
  const std::vector<Tensor> inputs = {Tensor::of<f32>({2}, std::vector<f32>{5, 6})};
  Context context = Inside::context(model, {.device = "test:0"});
  expect_equal(context.run(inputs), interpret(model->graph, inputs), "test:0");
}

TEST(Device, SizesThatDependOnData) {
  const auto model = model_of(test::kSizedByData);
  const std::vector<Tensor> inputs = {Tensor::of<f32>({6}, std::vector<f32>{0, 1, 0, 2, 3, 0})};
  for (const char* device : {"test:0", "test:3"}) {
    Context context = Inside::context(model, {.device = device});
    for (int i = 0; i < 2; ++i)
      expect_equal(context.run(inputs), interpret(model->graph, inputs), device);
  }
}

TEST(Device, AContextOfADeviceThatIsNotThere) {
  EXPECT_THROW(
      Inside::context(model_of(R"(graph "g"(%x: f32[2]) { return %x })"), {.device = "cuda:0"}),
      Error);
}

// A run that ends early leaves no work behind that would still read its tensors.
TEST(Device, AVisitorThatThrows) {
  const Graph graph = test::GraphMaker(2, 7).finish();
  const Target target = make_target("test:2", 1, nullptr);
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(make_plan(graph, std::vector<Shape>{{2, 3, 12, 10}}, target), queues, store);
  std::vector<Tensor> outputs;
  for (const TensorType& type : bound.plan().output_types)
    outputs.emplace_back(type.dtype, type.shape);
  {
    const std::vector<Tensor> gone = {noise({2, 3, 12, 10}, 1)};
    const auto visit = [&](size_t s, const StepArgs& args, s64) {
      if (s == 4) throw std::runtime_error("early");
      bound.run_step(s, args);
    };
    EXPECT_THROW(bound.visit_steps(gone, outputs, visit), std::runtime_error);
  }
  const std::vector<Tensor> inputs = {noise({2, 3, 12, 10}, 2)};
  bound.run(inputs, outputs);
  expect_equal(outputs, interpret(graph, inputs), "after the error");
}

TEST(Device, TimesByItsOwnClock) {
  const Graph graph = test::GraphMaker(2, 5).finish();
  const Target target = make_target("test:4", 1, nullptr);
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(make_plan(graph, std::vector<Shape>{{2, 3, 12, 10}}, target), queues, store);
  const std::vector<Tensor> inputs = {noise({2, 3, 12, 10}, 2)};
  std::vector<Tensor> outputs;
  for (const TensorType& type : bound.plan().output_types)
    outputs.emplace_back(type.dtype, type.shape);
  std::vector<f64> times(bound.plan().steps.size());
  bound.run_timed(inputs, outputs, times);
  expect_equal(outputs, interpret(graph, inputs), "timed");
  EXPECT_TRUE(std::ranges::all_of(times, [](f64 us) { return us >= 0; }));
}

}  // namespace
}  // namespace octet
