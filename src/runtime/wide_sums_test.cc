// SPDX-License-Identifier: Apache-2.0
// Products of two activations whose depth a run tells: kernels add in 32 bits while the sums fit, the reference takes the others, and
// both give what the sum in 64 bits gives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/bound_plan.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

constexpr const char* kProduct = R"(graph "g"(%a: u8[2,?], %b: u8[?,3]) {
  const %m: f32[1] = {4e-8}
  %y: u8[2,3] = QMatMul(%a, %b, _, %m) {input_zero_points=ints[0, 128], output_dtype="u8", output_zero_point=128} name "context"
  return %y
})";

constexpr s64 kDeepest = 65793;  // 255 * 128 * 65793 is the last below 2^31

struct Ran {
  std::vector<std::string> kernels, rejects;
  std::vector<u8> codes;
};

Ran run(const std::string& device, s64 depth) {
  Tensor a(Dtype::u8, Shape{2, depth}), b(Dtype::u8, Shape{depth, 3});
  std::ranges::fill(a.mutable_as<u8>(), u8{255});
  for (s64 i = 0; i < b.elements(); ++i)
    b.mutable_as<u8>()[static_cast<size_t>(i)] = static_cast<u8>(i % 3 == 0 ? 0 : 128 + i % 3);
  const std::vector<Tensor> inputs = {a, b};
  const Target target = make_target(device, 2, nullptr);
  const Graph graph = parse_graph(kProduct, find_op);
  Plan plan = make_plan(graph, std::vector<Shape>{a.shape(), b.shape()}, target);
  Ran ran;
  for (const PlanStep& step : plan.steps) {
    if (step.node >= plan.graph.nodes.size()) continue;
    ran.kernels.push_back(step.kernel);
    ran.rejects.insert(ran.rejects.end(), step.rejects.begin(), step.rejects.end());
  }
  std::vector<Tensor> outputs = {Tensor(Dtype::u8, Shape{2, 3})};
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(std::move(plan), queues, store);
  bound.run(inputs, outputs);
  ran.codes.assign(outputs[0].as<u8>().begin(), outputs[0].as<u8>().end());
  return ran;
}

// All sums of a column are the same.
u8 expected(s64 depth, s64 column) {
  const s64 sum = depth * 255 * (column == 0 ? -128 : column);
  const f32 t = static_cast<f32>(sum) * 4e-8f;
  return static_cast<u8>(std::clamp(std::nearbyint(t) + 128.0f, 0.0f, 255.0f));
}

class WideSums : public ::testing::TestWithParam<const char*> {};

TEST_P(WideSums, KernelsWhereTheyFitAndTheReferenceBeyond) {
  for (s64 depth : {s64{64}, kDeepest - 1, kDeepest, kDeepest + 1, s64{300000}}) {
    SCOPED_TRACE(depth);
    const Ran ran = run(GetParam(), depth);
    ASSERT_EQ(ran.kernels.size(), 1u);
    EXPECT_EQ(ran.kernels[0] == "reference", depth > kDeepest);
    if (depth > kDeepest) {
      EXPECT_THAT(ran.rejects,
                  ElementsAre(fmt::format("the sum of {} products can pass 32 bits", depth)));
    }
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(ran.codes[i], expected(depth, static_cast<s64>(i % 3))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, WideSums, ::testing::Values("cpu", "test:0", "test:1"),
                         [](const auto& device) {
                           std::string name = device.param;
                           std::erase(name, ':');
                           return name;
                         });

// Constant codes tell more than their number.
TEST(WideSums, ConstantsProveTheirOwnSums) {
  const auto reason = [](u8 code) {
    Graph graph = parse_graph(kProduct, find_op);
    const ValueId b = graph.find_value("b");
    graph.value(b).constant = Tensor(Dtype::u8, Shape{100000, 3});
    graph.value(b).type = {Dtype::u8, Shape{100000, 3}};
    std::ranges::fill(graph.value(b).constant.mutable_as<u8>(), code);
    std::erase(graph.inputs, b);
    const Plan plan =
        make_plan(graph, std::vector<Shape>{{2, 100000}}, make_target("cpu", 1, nullptr));
    return plan.steps[0].rejects.at(0);
  };
  EXPECT_NE(reason(128 - 84), "the sum of 100000 products can pass 32 bits");
  EXPECT_EQ(reason(128 - 85), "the sum of 100000 products can pass 32 bits");
}

}  // namespace
}  // namespace octet
