// SPDX-License-Identifier: Apache-2.0
#include "one_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/backends.h"
#include "compile_only.h"
#include "octet/error.h"
#include "runtime/bound_plan.h"

namespace octet::test {
namespace {

std::string device_name() {
  const char* name = std::getenv("OCTET_TEST_DEVICE");
  return name != nullptr ? name : "cuda:0";
}

std::vector<Shape> shapes_of(std::span<const Tensor> inputs) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  return shapes;
}

std::vector<Tensor> run_plan(Plan plan, std::span<const Tensor> inputs, const Target& target) {
  std::vector<Tensor> outputs;
  for (const TensorType& type : plan.output_types) outputs.emplace_back(type.dtype, type.shape);
  for (Tensor& output : outputs) std::memset(output.mutable_data(), 0x5A, output.bytes());
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(std::move(plan), queues, store);
  for (int run = 0; run < 2; ++run) bound.run(inputs, outputs);
  return outputs;
}

// The plan with another kernel of that step, and the memory that this one works in: it lies behind everything else.
Plan with_kernel(Plan plan, size_t which, const Candidate& candidate) {
  PlanStep& step = plan.steps[which];
  step.candidate = candidate;
  step.workspace_bytes = candidate.workspace_bytes;
  auto& arena = plan.arenas[step.device];
  arena.bytes = std::max(arena.bytes, arena.workspace_offset + candidate.workspace_bytes);
  return plan;
}

s64 first_difference(const Tensor& got, const Tensor& want) {
  s64 i = 0;
  const s64 bytes = static_cast<s64>(want.bytes());
  while (i < bytes && got.data()[i] == want.data()[i]) ++i;
  return i < bytes ? i : -1;
}

}  // namespace

const Device* gpu_device(std::string& why) {
  try {
    return &find_device(device_name());
  } catch (const Error& error) {
    why = error.what();
    return nullptr;
  }
}

std::vector<Tensor> run_on(const Graph& graph, std::span<const Tensor> inputs,
                           const Target& target) {
  return run_plan(make_plan(graph, shapes_of(inputs), target), inputs, target);
}

void expect_cpu_bytes(const Graph& graph, size_t node, std::span<const Tensor> inputs,
                      const std::string& what, std::vector<std::string>& kernels) {
  const std::vector<Tensor> want = run_on(graph, inputs, make_target("cpu", 1, nullptr));
  Target target = make_target(device_name(), 1, nullptr);
  target.keep_others = true;
  const Plan plan = make_plan(graph, shapes_of(inputs), target);
  const auto step = std::ranges::find(plan.steps, static_cast<u32>(node), &PlanStep::node);
  ASSERT_NE(step, plan.steps.end()) << what;
  ASSERT_NE(step->device, kHost) << what << ": " << (step->rejects.empty() ? "" : step->rejects[0]);
  std::vector<Candidate> candidates = step->kernels;
  if (candidates.empty()) candidates = {step->candidate};
  for (const Candidate& candidate : candidates) {
    Plan one = with_kernel(plan, static_cast<size_t>(step - plan.steps.begin()), candidate);
    kernels.push_back(candidate.kernel);
    if (only_compiles()) {
      compile_kernels(one);
      continue;
    }
    const std::vector<Tensor> got = run_plan(std::move(one), inputs, target);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(first_difference(got[i], want[i]), -1) << what << ", " << candidate.kernel;
  }
}

}  // namespace octet::test
