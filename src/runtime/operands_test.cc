// SPDX-License-Identifier: Apache-2.0
// What binding promises of the pointers of steps: constants that kernels read are in memory, and a plan that breaks the promise is refused.
#include "plan/operands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/error.h"
#include "ops/registry.h"
#include "runtime/bound_plan.h"
#include "runtime/random_graph_testing.h"

namespace octet {
namespace {

// Integers, whose sums are exact in whatever order.
Tensor integers(const Shape& shape, u32 seed) {
  Tensor tensor(Dtype::f32, shape);
  for (f32& x : tensor.mutable_as<f32>())
    x = static_cast<f32>((seed = seed * 1664525 + 1013904223) >> 28) - 7.0f;
  return tensor;
}

// The passes make one node of a convolution of a constant and the sum with what a run brings.
constexpr const char* kImage = R"(graph "g"(%r: f32[4,8,6,5]) {
  const %x: f32[4,3,6,5] = #0
  const %w: f32[8,3,3,3] = #1
  const %b: f32[8] = #2
  %y: f32[4,8,6,5] = Conv(%x, %w, %b, %r) {kernel_shape=ints[3,3], pads=ints[1,1,1,1]} name "conv"
  %z: f32[4,8,6,5] = Relu(%y) name "relu"
  return %z
})";
constexpr const char* kLine = R"(graph "g"(%r: f32[2,8,9]) {
  const %x: f32[2,3,9] = #0
  const %w: f32[8,3,3] = #1
  const %b: f32[8] = #2
  %y: f32[2,8,9] = Conv(%x, %w, %b, %r) {kernel_shape=ints[3], pads=ints[1,1]} name "conv"
  return %y
})";

Graph with_integers(const char* text) {
  return parse_graph(text, find_op, [](size_t index, const TensorType& type) {
    return integers(type.shape, static_cast<u32>(index) + 1);
  });
}

class ConstantOperand : public ::testing::TestWithParam<const char*> {};

TEST_P(ConstantOperand, IsReadLikeAnyValue) {
  for (const char* text : {kImage, kLine}) {
    const Graph graph = with_integers(text);
    const Shape shape = graph.value(graph.inputs[0]).type.shape;
    for (int threads : {1, 3}) {
      const Target target = make_target(GetParam(), threads, nullptr);
      Queues queues(target);
      PreparedStore store;
      BoundPlan bound(make_plan(graph, std::vector<Shape>{shape}, target), queues, store);
      std::vector<Tensor> outputs = {Tensor(Dtype::f32, shape)};
      for (u32 seed : {5u, 6u}) {
        const std::vector<Tensor> inputs = {integers(shape, seed)};
        bound.run(inputs, outputs);
        const std::vector<Tensor> want = interpret(graph, inputs);
        EXPECT_EQ(std::memcmp(outputs[0].data(), want[0].data(), want[0].bytes()), 0) << seed;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ConstantOperand,
                         ::testing::Values("cpu", "test:0", "test:1", "test:2", "test:3"),
                         [](const auto& device) {
                           std::string name = device.param;
                           std::erase(name, ':');
                           return name;
                         });

// Two plans of an engine read one copy.
TEST(ConstantOperand, LiesInMemoryOnce) {
  const Graph graph = with_integers(kImage);
  const Target target = make_target("test:0", 1, nullptr);
  Queues queues(target);
  PreparedStore store;
  const std::vector<Shape> shapes = {{4, 8, 6, 5}};
  const BoundPlan first(make_plan(graph, shapes, target), queues, store);
  const Plan& plan = first.plan();
  if (std::ranges::none_of(plan.buffers,
                           [](const Buffer& b) { return b.kind == Buffer::Kind::constant; }))
    GTEST_SKIP() << "below AVX2 the reference keeps it";
  const auto one = bind_constants(plan, store), two = bind_constants(plan, store);
  EXPECT_EQ(one, two);
}

using Damage = std::function<void(Plan&, PlanStep&, u32& buffer, bool output, size_t i)>;

void expect_refused(const Plan& good, const char* what, const Damage& damage) {
  for (size_t s = 0; s < good.steps.size(); ++s) {
    for (const bool output : {false, true}) {
      const size_t count = output ? good.steps[s].outputs.size() : good.steps[s].inputs.size();
      for (size_t i = 0; i < count; ++i) {
        Plan plan = good;
        PlanStep& step = plan.steps[s];
        u32& buffer = output ? step.outputs[i] : step.inputs[i];
        if (buffer == kNoBuffer) continue;
        damage(plan, step, buffer, output, i);
        try {
          check_operands(plan);
          ADD_FAILURE() << what << ": nobody noticed it in step " << step.name;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Error::Code::internal) << error.what();
          EXPECT_NE(std::string(error.what()).find("layer '"), std::string::npos) << error.what();
        }
      }
    }
  }
}

void expect_all_refused(const Plan& good) {
  check_operands(good);
  expect_refused(good, "unbound", [](Plan&, PlanStep&, u32& b, bool, size_t) { b = kNoBuffer; });
  expect_refused(good, "beyond the plan", [](Plan& plan, PlanStep&, u32& b, bool, size_t) {
    b = static_cast<u32>(plan.buffers.size());
  });
  expect_refused(good, "another value's", [](Plan& plan, PlanStep&, u32& b, bool, size_t) {
    Buffer other = plan.buffers[b];
    other.value = plan.graph.add_value("other", plan.graph.value(other.value).type);
    b = static_cast<u32>(plan.buffers.size());
    plan.buffers.push_back(other);
  });
  expect_refused(good, "too small", [](Plan& plan, PlanStep&, u32& b, bool, size_t) {
    Buffer& buffer = plan.buffers[b];
    if (buffer.is_of_caller()) buffer.index = 1000;
    if (buffer.kind == Buffer::Kind::arena) {
      Buffer& whole = plan.buffers[buffer.same_as == kNoBuffer ? b : buffer.same_as];
      whole.offset = buffer.offset = plan.arenas[buffer.space].bytes;
    }
    if (buffer.kind == Buffer::Kind::constant)
      plan.graph.value(buffer.value).constant = Tensor(Dtype::f32, Shape{1});
  });
  expect_refused(good, "another layout", [](Plan&, PlanStep& step, u32&, bool output, size_t i) {
    Layout& layout = output ? step.candidate.outputs[i] : step.candidate.inputs[i];
    layout = layout == Layout::linear ? Layout::nhwc : Layout::linear;
  });
  expect_refused(good, "another device",
                 [](Plan& plan, PlanStep&, u32& b, bool, size_t) { plan.buffers[b].space = 7; });
}

TEST(Operands, OfAPlanThatBreaksThePromiseAreRefused) {
  for (const char* device : {"cpu", "test:0", "test:1"}) {
    const Target target = make_target(device, 2, nullptr);
    for (u32 seed : {1u, 2u, 3u}) {
      const Graph graph = test::GraphMaker(2, seed).finish();
      expect_all_refused(make_plan(graph, std::vector<Shape>{{2, 3, 12, 10}}, target));
    }
    const Graph graph = with_integers(kImage);
    expect_all_refused(make_plan(graph, std::vector<Shape>{{4, 8, 6, 5}}, target));
  }
}

TEST(Operands, WorkspacesLieInTheArena) {
  const Graph graph = with_integers(kImage);
  Plan plan = make_plan(graph, std::vector<Shape>{{4, 8, 6, 5}}, make_target("cpu", 1, nullptr));
  plan.steps[0].candidate.workspace_bytes = plan.arenas[kHost].bytes + 1;
  EXPECT_THROW(check_operands(plan), Error);
}

}  // namespace
}  // namespace octet
