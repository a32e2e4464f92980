// SPDX-License-Identifier: Apache-2.0
#include "octet/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <utility>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "inspect/selftest/difference.h"
#include "inspect/selftest/networks.h"
#include "octet/error.h"
#include "ops/registry.h"
#include "pipeline/float_model.h"
#include "runtime/bound_plan.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

Tensor noise(const TensorType& type, u32 seed, f32 most) {
  std::mt19937 random(seed);
  Tensor tensor(type.dtype, type.shape);
  for (f32& x : tensor.mutable_as<f32>())
    x = most * static_cast<f32>(static_cast<s32>(random() % 2001) - 1000) / 1000;
  return tensor;
}

Tensor weights(s64 index, const TensorType& type) {
  return noise(type, static_cast<u32>(index) + 1, 0.25f);
}

Graph quantized(const SelfTestNetwork& network) {
  const FloatModel model =
      with_assumed_ranges(optimize(parse_graph(network.text, find_op, weights), {}));
  PrecisionPlan plan;
  plan.int8 = true;
  return quantize(model, plan).graph;
}

// The same with every value as a result, so that no layer's mistake is hidden by those behind it.
Graph all_seen(Graph graph) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != kNoValue && std::ranges::find(graph.outputs, id) == graph.outputs.end())
        graph.outputs.push_back(id);
    }
  }
  return graph;
}

std::vector<Tensor> inputs_of(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back(noise(graph.value(id).type, static_cast<u32>(inputs.size()) + 100, 4));
  return inputs;
}

std::vector<Shape> shapes_of(std::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

// "conv_mma" of "conv_mma 64x128 nhwc".
std::string family_of(const std::string& kernel) { return kernel.substr(0, kernel.find(' ')); }

class SelfTest {
 public:
  explicit SelfTest(const SelfTestOptions& options)
      : options_(options),
        target_(make_target(options.device, options.threads, nullptr)),
        trial_(make_target(options.device, 1, nullptr)) {
    trial_.keep_others = true;
    report_.device = device_info(options.device);
  }

  SelfTestReport run() {
    const auto networks = self_test_networks();
    for (const SelfTestNetwork& network : networks) {
      const s64 done = report_.networks + report_.left;
      watch(done, std::ssize(networks));
      run(network);
    }
    watch(std::ssize(networks), std::ssize(networks));
    for (auto& [name, found] : kernels_) report_.kernels.push_back(std::move(found));
    return std::move(report_);
  }

 private:
  void watch(s64 done, s64 total) const {
    if (options_.monitor.stop.stop_requested() ||
        (options_.monitor.report && !options_.monitor.report({"selftest", done, total})))
      fail(Error::Code::cancelled, "the self-test was ended before it was done");
  }

  bool is_over() const {
    const f64 seconds = std::chrono::duration<f64>(Clock::now() - begin_).count();
    return (options_.seconds > 0 && seconds > options_.seconds) ||
           report_.failures.size() >= kMostSelfTestFailures;
  }

  void run(const SelfTestNetwork& network) {
    if (!is_over()) {
      network_ = network.name;
      const Graph graph = quantized(network);
      inputs_ = inputs_of(graph);
      run_as_planned(graph);
      if (!is_over() && run_each_layer(all_seen(graph))) {
        ++report_.networks;
        return;
      }
    }
    ++report_.left;
  }

  // Layers that one kernel takes together, and memory that steps share, are only here.
  void run_as_planned(const Graph& graph) {
    const std::vector<Tensor> want = interpret(graph, inputs_);
    const Plan plan = make_plan(graph, shapes_of(inputs_), target_);
    for (const PlanStep& step : plan.steps) {
      if (step.node >= plan.graph.nodes.size()) continue;
      ++report_.layers;
      report_.on_host += is_left_to_host(step) ? 1 : 0;
    }
    expect(target_, plan, want, {std::string(network_), "", "", ""});
  }

  // By one thread: where several take images of their own, a step's workspace has no room to grow.
  // Whether all of it ran.
  bool run_each_layer(const Graph& graph) {
    const std::vector<Tensor> want = interpret(graph, inputs_);
    const Plan plan = make_plan(graph, shapes_of(inputs_), trial_);
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      if (is_over()) return false;
      const PlanStep& step = plan.steps[i];
      if (step.node >= plan.graph.nodes.size() || is_left_to_host(step)) continue;
      const s64 others = std::max<s64>(std::ssize(step.kernels) - 1, 0);
      const s64 count = std::min<s64>(others, options_.other_kernels);
      count_run(step.candidate.kernel);
      for (s64 k = 0; k < count; ++k) {
        if (is_over()) return false;
        const Candidate& other = step.kernels[static_cast<size_t>(1 + k * others / count)];
        count_run(other.kernel);
        expect(trial_, with_kernel(plan, i, other), want,
               {std::string(network_), step.name, other.kernel, ""});
      }
    }
    if (is_over()) return false;
    expect(trial_, plan, want, {std::string(network_), "", "", ""});
    return true;
  }

  bool is_left_to_host(const PlanStep& step) const {
    return step.device == kHost && target_.device->name() != "cpu";
  }

  void count_run(const std::string& kernel) {
    SelfTestKernel& found = kernels_[family_of(kernel)];
    found.name = family_of(kernel);
    ++found.runs;
  }

  // Twice, since the second begins with what the first left behind.
  void expect(const Target& target, Plan plan, const std::vector<Tensor>& want,
              SelfTestFailure failure) {
    ++report_.runs;
    try {
      std::vector<Tensor> got;
      for (const TensorType& type : plan.output_types) got.emplace_back(type.dtype, type.shape);
      for (Tensor& output : got) std::memset(output.mutable_data(), 0x5A, output.bytes());
      Queues queues(target);
      PreparedStore store;
      BoundPlan bound(std::move(plan), queues, store);
      for (int run = 0; run < 2; ++run) bound.run(inputs_, got);
      failure.what = first_difference(bound.plan().graph, got, want);
    } catch (const Error& error) {
      failure.what = error.what();
    }
    if (failure.what.empty()) return;
    if (!failure.kernel.empty()) ++kernels_[family_of(failure.kernel)].wrong;
    report_.failures.push_back(std::move(failure));
  }

  const SelfTestOptions& options_;
  const Clock::time_point begin_ = Clock::now();
  Target target_;  // of networks as they are planned
  Target trial_;   // of a layer's other kernels
  std::string_view network_;
  std::vector<Tensor> inputs_;
  std::map<std::string, SelfTestKernel> kernels_;
  SelfTestReport report_;
};

}  // namespace

SelfTestReport self_test(const SelfTestOptions& options) { return SelfTest(options).run(); }

}  // namespace octet
