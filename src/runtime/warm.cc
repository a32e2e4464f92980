// SPDX-License-Identifier: Apache-2.0
// Plans for GPUs that are not here, of which nothing is kept but the kernels that they would start.
#include "octet/warm.h"

#include "backends/backends.h"
#include "backends/cuda/kernel_cache.h"
#include "backends/cuda/wanted_kernels.h"
#include "core/check.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "graph/op_def.h"
#include "plan/plan.h"
#include "runtime/inside.h"
#include "runtime/staged.h"

namespace octet {
namespace {

// Where the caller's tensors may lie: all with the host, or all in the device's memory.
std::vector<CallerMemory> places_for(const Graph& graph) {
  const std::vector<bool> inputs(graph.inputs.size(), true);
  return {{}, {inputs, std::vector<bool>(graph.outputs.size(), true), inputs}};
}

// Of a run in stages the first, which is the same for all data of these sizes.
void add_first_stage(cuda::WantedKernels& wanted, const Graph& graph, const Target& target,
                     std::span<const Shape> shapes) {
  const Graph planned = make_stage(graph, first_start(graph, shapes)).planned;
  if (planned.outputs.empty()) return;
  std::vector<Shape> inputs;
  for (ValueId id : planned.inputs) inputs.push_back(planned.value(id).type.shape);
  wanted.add(make_plan(planned, inputs, target));
}

// False where data must tell sizes first.
bool add_plans(cuda::WantedKernels& wanted, const Graph& graph, const Target& target,
               std::span<const Shape> shapes) {
  try {
    for (const CallerMemory& memory : places_for(graph))
      wanted.add(make_plan(graph, shapes, target, memory));
    return true;
  } catch (const NeedsData&) {
    add_first_stage(wanted, graph, target, shapes);
    return false;
  }
}

WarmReport warm(const Graph& graph, const WarmOptions& options) {
  WarmReport report;
  report.compiler = cuda::compiler_version();
  cuda::WantedKernels wanted(options.gpus);
  report.gpus = wanted.gpus();
  cuda::open_shared_cache(options.folder);
  const s64 plans = std::ssize(report.gpus) * std::ssize(options.input_shapes);
  for (size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
    const Target target{.device = &wanted.device(gpu),
                        .host = &find_device("cpu"),
                        .threads = 1,
                        .tuning = options.tuning};
    for (size_t i = 0; i < options.input_shapes.size(); ++i) {
      const size_t before = gpu * options.input_shapes.size() + i;
      report_progress(options.monitor, "plan", static_cast<s64>(before), plans);
      if (!add_plans(wanted, graph, target, options.input_shapes[i]))
        report.sizes_depend_on_data = true;
    }
  }
  report.kernels = wanted.size();
  report.compiled = wanted.compile_into(options.folder, options.monitor);
  return report;
}

}  // namespace

WarmReport warm_kernels(const Engine& engine, const WarmOptions& options) {
  return without_bad_alloc([&] { return warm(Inside::model(engine).graph, options); });
}

}  // namespace octet
