// SPDX-License-Identifier: Apache-2.0
// Values that a plan for a CPU stores as bf16 (backends/cpu/lower/bf16_values.h) have the numbers that it would store as f32, to the bit. What a
// caller gets is never stored so: returned as well, each value stays f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "arch/isa.h"
#include "backends/backends.h"
#include "core/small_types.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/bound_plan.h"

namespace octet {
namespace {

// Layers of all kinds that read and write such values: the first of an image, depthwise in pairs of rows, with strides and with few channels, an odd
// number of channels, groups, residuals, functions, one that has no kernel, moves. %y and %z are the caller's.
constexpr const char* kLayers = R"(graph "g"(%x: f32[2,3,21,18]) {
  const %w0: f32[16,3,3,3] = #0
  const %b0: f32[16] = #1
  const %w1: f32[16,1,3,3] = #2
  const %w2: f32[33,16,1,1] = #3
  const %w3: f32[33,1,5,5] = #4
  const %w4: f32[48,33,1,1] = #5
  const %w5: f32[48,24,3,3] = #6
  const %w6: f32[48,16,1,1] = #7
  const %w7: f32[8,96,1,1] = #8
  const %w8: f32[8,1,3,3] = #9
  const %k: f32[1,48,1,1] = #10
  const %e: f32[] = {3}
  %xr: f32[2,3,21,18] = RoundTo(%x) {to="bf16"}
  %c0: f32[2,16,11,9] = Conv(%xr, %w0, %b0) {pads=ints[1, 1, 1, 1], strides=ints[2, 2]} as "bf16" ""
  %r0: f32[2,16,11,9] = RoundTo(%c0) {to="bf16"}
  %d1: f32[2,16,11,9] = Conv(%r0, %w1) {group=16, pads=ints[1, 1, 1, 1], activation="relu"} as "bf16" ""
  %r1: f32[2,16,11,9] = RoundTo(%d1) {to="bf16"}
  %s1: f32[2,16,11,9] = Swish(%r1) as "bf16" ""
  %q1: f32[2,16,11,9] = RoundTo(%s1) {to="bf16"}
  %c2: f32[2,33,11,9] = Conv(%q1, %w2) {activation="leaky_relu", activation_alpha=0.1} as "bf16" ""
  %r2: f32[2,33,11,9] = RoundTo(%c2) {to="bf16"}
  %d3: f32[2,33,6,5] = Conv(%r2, %w3) {group=33, pads=ints[2, 2, 2, 2], strides=ints[2, 2]} as "bf16" ""
  %r3: f32[2,33,6,5] = RoundTo(%d3) {to="bf16"}
  %c4: f32[2,48,6,5] = Conv(%r3, %w4) as "bf16" ""
  %r4: f32[2,48,6,5] = RoundTo(%c4) {to="bf16"}
  %c5: f32[2,48,6,5] = Conv(%r4, %w5, _, %r4) {group=2, pads=ints[1, 1, 1, 1]} as "bf16" ""
  %r5: f32[2,48,6,5] = RoundTo(%c5) {to="bf16"}
  %p: f32[2,16,6,5] = MaxPool(%q1) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1], strides=ints[2, 2]}
  %c6: f32[2,48,6,5] = Conv(%p, %w6, _, %r5) {activation="relu"} as "bf16" ""
  %r6: f32[2,48,6,5] = RoundTo(%c6) {to="bf16"}
  %m: f32[2,48,6,5] = Mul(%r5, %k) as "bf16" ""
  %rm: f32[2,48,6,5] = RoundTo(%m) {to="bf16"}
  %a: f32[2,96,6,5] = Concat(%rm, %r6) {axis=1}
  %c7: f32[2,8,6,5] = Conv(%a, %w7) as "bf16" ""
  %r7: f32[2,8,6,5] = RoundTo(%c7) {to="bf16"}
  %u: f32[2,8,6,5] = Pow(%r7, %e) as "bf16" ""
  %ru: f32[2,8,6,5] = RoundTo(%u) {to="bf16"}
  %y: f32[2,8,6,5] = Conv(%ru, %w8) {group=8, pads=ints[1, 1, 1, 1]} as "bf16" ""
  %z: f32[2,48,6,5] = Add(%r5, %r6) as "bf16" ""
)";
constexpr const char* kStored[] = {"xr", "r0", "r1", "q1", "r2", "r3", "r4",
                                   "r5", "p",  "r6", "rm", "a",  "r7", "ru"};

Tensor some_reals(const Shape& shape, u32 seed, bool halves) {
  Tensor reals(Dtype::f32, shape);
  for (f32& x : reals.mutable_as<f32>()) {
    x = static_cast<f32>(static_cast<s32>(seed = seed * 1664525 + 1013904223)) / 4e9f;
    if (halves) x = static_cast<f32>(bf16(x));
  }
  return reals;
}

Graph layers(bool all) {
  std::string text = std::string(kLayers) + "  return %y, %z";
  for (const char* name : kStored) text += all ? std::string(", %") + name : "";
  return parse_graph(text + "\n}", find_op, [](size_t index, const TensorType& type) {
    return some_reals(type.shape, static_cast<u32>(index) + 1, true);
  });
}

struct Run {
  Plan plan;
  std::vector<Tensor> outputs;
};

Run run(const Graph& graph, const Tensor& x, int threads) {
  const Target target = make_target("cpu", threads, nullptr);
  Queues queues(target);
  PreparedStore store;
  const std::vector<Shape> shapes{x.shape()};
  BoundPlan bound(make_plan(graph, shapes, target), queues, store);
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs)
    outputs.emplace_back(Dtype::f32, graph.value(id).type.shape);
  const std::vector<Tensor> inputs{x};
  bound.run(inputs, outputs);
  return {make_plan(graph, shapes, target), outputs};
}

s64 stored_in(const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    if (step.kernel == "reference") {
      EXPECT_EQ(plan.graph.nodes[step.node].op->name, "Pow");
    }
  }
  s64 count = 0;
  for (const Node& node : plan.graph.nodes) {
    for (const ValueId id : node.outputs) count += plan.graph.value(id).type.dtype == Dtype::bf16;
  }
  return count;
}

// Results of runs for one input, and for others.
void expect_same(const Tensor& x, int threads) {
  const Run stored = run(layers(false), x, threads), apart = run(layers(true), x, threads);
  if (cpu_multiplies_bf16() && !hardware_has(Isa::amx)) {
    EXPECT_GE(stored_in(stored.plan), std::ssize(kStored));
  }
  EXPECT_EQ(stored_in(apart.plan), 0);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    for (size_t e = 0; e < stored.outputs[i].as<f32>().size(); ++e) {
      const f32 a = stored.outputs[i].as<f32>()[e], b = apart.outputs[i].as<f32>()[e];
      ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(a)) == 0)
          << i << " " << e << ": " << a << ", " << b;
    }
  }
}

TEST(Bf16Values, HaveTheNumbersThatTheyWouldHaveInF32) {
  const Tensor x = some_reals({2, 3, 21, 18}, 99, false);
  for (const int threads : {1, 3}) expect_same(x, threads);
}

TEST(Bf16Values, KeepSubnormalsInfinitiesAndNan) {
  Tensor small = some_reals({2, 3, 21, 18}, 7, false);
  for (f32& value : small.mutable_as<f32>()) value *= 1e-37f;
  expect_same(small, 1);
  Tensor odd = some_reals({2, 3, 21, 18}, 8, false);
  const auto values = odd.mutable_as<f32>();
  values[11] = std::numeric_limits<f32>::infinity();
  values[200] = -3e38f;
  values[700] = std::numeric_limits<f32>::quiet_NaN();
  expect_same(odd, 1);
}

// On processors that store halves, and on those without instructions for them.
TEST(Bf16Values, OfTheModelItselfAreRounded) {
  constexpr s64 kCount = 1003;
  const Graph sums = parse_graph(
      R"(graph "g"(%x: bf16[1,1003], %b: bf16[1,1003]) {
  %r: bf16[1,1003] = Relu(%x)
  %y: bf16[1,1003] = Add(%r, %b)
  return %y
})",
      find_op, {});
  const Target target = make_target("cpu", 1, nullptr);
  Queues queues(target);
  PreparedStore store;
  const std::vector<Shape> shapes(2, Shape{1, kCount});
  BoundPlan bound(make_plan(sums, shapes, target), queues, store);
  std::vector<Tensor> inputs, outputs;
  for (const u32 seed : {3u, 4u}) {
    const Tensor reals = some_reals({1, kCount}, seed, true);
    Tensor& halves = inputs.emplace_back(Dtype::bf16, Shape{1, kCount});
    for (size_t e = 0; e < kCount; ++e) halves.mutable_as<bf16>()[e] = bf16(reals.as<f32>()[e]);
  }
  outputs.emplace_back(Dtype::bf16, Shape{1, kCount});
  bound.run(inputs, outputs);
  for (size_t e = 0; e < kCount; ++e) {
    const f32 x = static_cast<f32>(inputs[0].as<bf16>()[e]),
              b = static_cast<f32>(inputs[1].as<bf16>()[e]);
    const bf16 sum((x > 0 ? x : 0) + b);
    ASSERT_EQ(static_cast<f32>(outputs[0].as<bf16>()[e]), static_cast<f32>(sum)) << e;
  }
}

}  // namespace
}  // namespace octet
