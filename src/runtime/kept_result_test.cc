// SPDX-License-Identifier: Apache-2.0
// Products of constants alone: computed once by the kernel that would run them, with the reference's bits in every run.
#include "plan/kept_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/bound_plan.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPositions = R"(graph "g"(%x: f32[24,33]) {
  const %p: s8[24,40] = #0
  const %w: s8[40,33] = #1
  const %m: f32[1] = {0.0007}
  %r: f32[24,33] = QMatMul(%p, %w, _, %m) {input_zero_points=ints[5, 0], output_dtype="f32"} name "positions"
  %y: f32[24,33] = Add(%r, %x) name "add"
  return %y
})";

Tensor some_codes(const Shape& shape, u32 seed) {
  Tensor codes(Dtype::s8, shape);
  for (s8& code : codes.mutable_as<s8>())
    code = static_cast<s8>((seed = seed * 1664525 + 1013904223) >> 24);
  return codes;
}

Graph positions() {
  return parse_graph(kPositions, find_op, [](size_t index, const TensorType& type) {
    return some_codes(type.shape, static_cast<u32>(index) + 1);
  });
}

class KeptResult : public ::testing::TestWithParam<const char*> {};

TEST_P(KeptResult, HasTheBitsOfTheReferenceInEveryRun) {
  const Graph graph = positions();
  const Target target = make_target(GetParam(), 2, nullptr);
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(make_plan(graph, std::vector<Shape>{{24, 33}}, target), queues, store);
  std::vector<Tensor> outputs = {Tensor(Dtype::f32, Shape{24, 33})};
  for (f32 value : {0.0f, 1.5f, -3.0f}) {
    Tensor x(Dtype::f32, Shape{24, 33});
    std::ranges::fill(x.mutable_as<f32>(), value);
    const std::vector<Tensor> inputs = {x}, want = interpret(graph, inputs);
    bound.run(inputs, outputs);
    EXPECT_EQ(std::memcmp(outputs[0].data(), want[0].data(), want[0].bytes()), 0) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, KeptResult, ::testing::Values("cpu", "test:0", "test:1"),
                         [](const auto& device) {
                           std::string name = device.param;
                           std::erase(name, ':');
                           return name;
                         });

TEST(KeptResult, IsComputedByAKernelOnceForAllPlansOfItsConstants) {
  const Graph graph = positions();
  const Target target = make_target("cpu", 1, nullptr);
  const Plan plan = make_plan(graph, std::vector<Shape>{{24, 33}}, target);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_NE(plan.steps[0].kernel, "reference");
  EXPECT_THAT(plan.steps[0].note, HasSubstr("computed once"));
  Queues queues(target);
  PreparedStore store;
  const BoundPlan first(make_plan(graph, std::vector<Shape>{{24, 33}}, target), queues, store);
  const size_t kept = store.size();
  EXPECT_EQ(kept, 1u);
  const BoundPlan second(make_plan(graph, std::vector<Shape>{{24, 33}}, target), queues, store);
  EXPECT_EQ(store.size(), kept);
}

}  // namespace
}  // namespace octet
