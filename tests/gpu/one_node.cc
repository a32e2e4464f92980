// SPDX-License-Identifier: Apache-2.0
#include "one_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/backends.h"
#include "backends/cuda/device.h"
#include "backends/cuda/driver.h"
#include "compile_only.h"
#include "core/divide.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
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

size_t step_of(const Plan& plan, size_t node) {
  const auto at = std::ranges::find(plan.steps, static_cast<u32>(node), &PlanStep::node);
  return static_cast<size_t>(at - plan.steps.begin());
}

// Where bytes differ, the first of them with what they are and should be; empty where none does.
std::string differences(const Tensor& got, const Tensor& want) {
  constexpr s64 kShown = 12;
  s64 count = 0;
  std::string text;
  for (s64 i = 0; i < static_cast<s64>(want.bytes()); ++i) {
    if (got.data()[i] == want.data()[i]) continue;
    if (++count <= kShown)
      text += fmt::format(" [{}] {} for {}", i, std::to_integer<int>(got.data()[i]),
                          std::to_integer<int>(want.data()[i]));
  }
  return count == 0 ? "" : fmt::format("{} of {} bytes:{}", count, want.bytes(), text);
}

// Tensors of a caller in an emulated GPU's memory, behind whose last 16 bytes nobody may read.
class GuardedTensors {
 public:
  GuardedTensors(const Device& device, std::span<const Tensor> values) {
    const std::unique_ptr<Queue> queue = device.make_queue(nullptr);
    for (const Tensor& value : values) {
      std::byte* const at = allocate(device, static_cast<s64>(value.bytes()));
      queue->copy(at, value.data(), static_cast<s64>(value.bytes()));
      tensors_.emplace_back(value.type(),
                            std::shared_ptr<const std::byte>(std::shared_ptr<void>(), at));
    }
    queue->synchronize();
  }
  ~GuardedTensors() {
    for (const CUdeviceptr pointer : allocated_) cuda::driver().cuMemFree(pointer);
  }
  GuardedTensors(const GuardedTensors&) = delete;
  GuardedTensors& operator=(const GuardedTensors&) = delete;

  std::span<const Tensor> get() const { return tensors_; }

 private:
  // Where allocations end, a page begins that faults; they begin at multiples of 256, and accesses take 16 bytes at most.
  std::byte* allocate(const Device& device, s64 bytes) {
    constexpr s64 kUnit = 256, kAccess = 16;
    const s64 whole = ceil_div(std::max<s64>(bytes, 1), kUnit) * kUnit;
    cuda::cuda_device(&device).make_current();
    EXPECT_EQ(cuda::driver().cuMemAlloc(&allocated_.emplace_back(), static_cast<size_t>(whole)), 0);
    const s64 unused = whole - ceil_div(bytes, kAccess) * kAccess;
    return reinterpret_cast<std::byte*>(allocated_.back()) + unused;
  }

  std::vector<CUdeviceptr> allocated_;
  std::vector<Tensor> tensors_;
};

// What a caller's plan is made for whose inputs lie in the device's memory, where kernels read them.
CallerMemory inputs_on_device(size_t count) {
  return {.inputs = std::vector<bool>(count, true),
          .outputs = {},
          .aligned = std::vector<bool>(count, true)};
}

bool has_macs(const Node& node) {
  return node.op->traits != nullptr && node.op->traits->macs != nullptr;
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

const Device* hopper(std::string& why) {
  const Device* device = gpu_device(why);
  if (device == nullptr) return nullptr;
  why = cuda::cuda_device(device).chip().reject_without(
      {cuda::Instruction::wgmma, cuda::Instruction::tma});
  return why.empty() ? device : nullptr;
}

bool multiplies(const Device& gpu, std::string_view type) {
  return cuda::cuda_device(&gpu).chip().reject_without_mma(type != "bf16").empty();
}

bool is_emulated(const Device& device) {
  return device.identity().find("Emulated") != std::string::npos;
}

int case_count(int otherwise) {
  const char* asked = std::getenv("OCTET_TEST_CASES");
  return asked != nullptr ? std::atoi(asked) : otherwise;
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

std::vector<Tensor> run_on(const Graph& graph, std::span<const Tensor> inputs,
                           const Target& target) {
  return run_plan(make_plan(graph, shapes_of(inputs), target), inputs, target);
}

Plan plan_of(const Graph& graph, const Target& target) {
  std::vector<Shape> shapes;
  for (const ValueId id : graph.inputs) shapes.push_back(graph.value(id).type.shape);
  return make_plan(graph, shapes, target);
}

std::vector<std::string> kernel_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanStep& step : plan.steps) names.push_back(step.candidate.kernel);
  return names;
}

void expect_cpu_bytes(const Graph& graph, size_t node, std::span<const Tensor> inputs,
                      const std::string& what, std::vector<std::string>& kernels) {
  expect_bytes(graph, node, inputs, {run_on(graph, inputs, make_target("cpu", 1, nullptr)), what},
               kernels);
}

void expect_bytes(const Graph& graph, size_t node, std::span<const Tensor> inputs,
                  const Wanted& wanted, std::vector<std::string>& kernels) {
  const std::vector<Tensor>& want = wanted.outputs;  // which older compilers let a lambda capture
  const std::string& what = wanted.what;
  Target target = make_target(device_name(), 1, nullptr);
  target.keep_others = true;
  const Plan plan = make_plan(graph, shapes_of(inputs), target);
  ASSERT_LT(step_of(plan, node), plan.steps.size()) << what;
  const PlanStep& step = plan.steps[step_of(plan, node)];
  ASSERT_NE(step.device, kHost) << what << ": " << (step.rejects.empty() ? "" : step.rejects[0]);
  std::vector<Candidate> candidates = step.kernels;
  if (candidates.empty()) candidates = {step.candidate};
  const bool guarded = is_emulated(*target.device) && !only_compiles();
  const Plan in_place =
      make_plan(graph, shapes_of(inputs), target, inputs_on_device(guarded ? inputs.size() : 0));
  for (const Candidate& candidate : candidates) {
    Plan one = with_kernel(plan, step_of(plan, node), candidate);
    kernels.push_back(candidate.kernel);
    // What multiplies names the rate of its unit.
    EXPECT_EQ(candidate.macs_per_cycle > 0, has_macs(plan.graph.nodes[node]))
        << what << ", " << candidate.kernel;
    if (only_compiles()) {
      compile_kernels(one);
      continue;
    }
    const auto expect_want = [&](const std::vector<Tensor>& got, const char* where) {
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(differences(got[i], want[i]), "") << what << ", " << candidate.kernel << where;
    };
    expect_want(run_plan(std::move(one), inputs, target), "");
    if (!guarded) continue;
    const GuardedTensors there(*target.device, inputs);
    expect_want(
        run_plan(with_kernel(in_place, step_of(in_place, node), candidate), there.get(), target),
        ", inputs where they lie");
  }
}

s64 for_each_kernel(
    const Graph& graph, std::span<const Tensor> inputs, const std::string& part, s64 most,
    const std::function<void(const std::string&, const std::vector<Tensor>&)>& see) {
  Target target = make_target(device_name(), 1, nullptr);
  target.keep_others = true;
  const Plan plan = make_plan(graph, shapes_of(inputs), target);
  std::vector<Candidate> found;
  u32 node = 0;
  for (const PlanStep& step : plan.steps) {
    std::vector<Candidate> own = step.kernels;
    std::erase_if(own, [&](const Candidate& candidate) {
      return candidate.kernel.find(part) == std::string::npos;
    });
    if (!own.empty()) found = std::move(own), node = step.node;
  }
  const s64 count = std::ssize(found);
  for (s64 i = 0; i < std::min(count, most); ++i) {
    const Candidate& candidate = found[static_cast<size_t>(i * count / std::min(count, most))];
    Plan one = with_kernel(plan, step_of(plan, node), candidate);
    if (only_compiles()) {
      compile_kernels(one);
    } else {
      see(candidate.kernel, run_plan(std::move(one), inputs, target));
    }
  }
  return count;
}

}  // namespace octet::test
