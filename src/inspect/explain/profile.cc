// SPDX-License-Identifier: Apache-2.0
#include "octet/profile.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_map>

#include "backends/backends.h"
#include "core/check.h"
#include "core/memory.h"
#include "core/run_work.h"
#include "graph/op_traits.h"
#include "inspect/explain/floor.h"
#include "inspect/explain/layer_text.h"
#include "inspect/explain/layers.h"
#include "runtime/context.h"
#include "runtime/inside.h"

namespace octet {
namespace {

double median(std::vector<f64> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor ? tensor.type() : TensorType{});
  return types;
}

// Of every layer, its times in all runs. The data decide which layers run; equal data run equal layers.
struct Samples {
  std::vector<LayerInfo> layers;
  std::vector<std::vector<f64>> step_us;
  size_t at = 0;  // the layer of this run that comes next

  // True when the layer is new and wants its description.
  bool add(f64 microseconds) {
    if (at == step_us.size()) step_us.emplace_back();
    step_us[at++].push_back(microseconds);
    return layers.size() < at;
  }

  void add_run(Context& context, std::span<const Tensor> inputs) {
    at = 0;
    RunObserver observer;
    observer.run_plan = [&](BoundPlan& bound, std::span<const Tensor> in, std::span<Tensor> out) {
      const Plan& plan = bound.plan();
      std::vector<f64> times(plan.steps.size());
      bound.run_timed(in, out, times);
      for (size_t s = 0; s < times.size(); ++s) {
        if (add(times[s])) layers.push_back(layer_of(plan, plan.steps[s]));
      }
    };
    observer.after_node = [&](const Node& node, std::span<const Tensor> in,
                              std::span<const Tensor> out, f64 microseconds) {
      if (!add(microseconds)) return;
      layers.push_back(layer_outside_plans(Inside::impl(context).model->graph, node,
                                           "its sizes depend on run-time data"));
      layers.back().input_types = types_of(in);
      layers.back().output_types = types_of(out);
    };
    Inside::impl(context).run_observed(inputs, observer);
  }
};

// None of a copy between a device's memory and the host's: what lies between them says nothing of itself.
f64 floor_of(const LayerInfo& layer, const DeviceRates& host, int threads) {
  if (layer.op == "Copy" && layer.device != "cpu") return 0;
  const DeviceRates rates = find_device(layer.device).rates();
  return rates.bytes_per_us > 0 ? floor_us(layer, rates, 1) : floor_us(layer, host, threads);
}

}  // namespace

std::vector<LayerTime> profile(const Engine& engine, std::span<const Tensor> inputs,
                               const ProfileOptions& options) {
  if (options.runs < 1) fail(Error::Code::invalid_argument, "a profile needs at least one run");
  Context context = engine.make_context(
      {options.threads, options.tuning, options.device, nullptr, options.chains});
  context.run(inputs);
  Samples samples;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int64_t run = 0; run < options.runs || seconds() < options.seconds; ++run)
    samples.add_run(context, inputs);
  const DeviceRates host = measure_rates();
  std::vector<LayerTime> times;
  double total = 0;
  for (size_t s = 0; s < samples.layers.size(); ++s) {
    const LayerInfo& layer = samples.layers[s];
    times.push_back({layer, median(samples.step_us[s]), 0, floor_of(layer, host, options.threads),
                     samples.step_us[s]});
    total += times.back().microseconds;
  }
  for (LayerTime& time : times) time.share = total > 0 ? time.microseconds / total : 0;
  return times;
}

namespace {

// A few runs, and planning them, take moments, and nothing loops for as long as random data say.
bool is_quick(const Graph& graph, const Coverage& coverage) {
  constexpr s64 kMostMacs = s64{8} << 30, kMostBytes = s64{1} << 30, kMostLayers = 20'000;
  return coverage.macs <= kMostMacs && coverage.bytes <= kMostBytes &&
         coverage.layers <= kMostLayers && std::ranges::none_of(graph.nodes, has_body);
}

std::vector<Tensor> random_inputs(const Engine& engine, const InspectOptions& options) {
  const std::vector<Shape> shapes =
      options.input_shapes.empty() ? sample_shapes(engine) : options.input_shapes;
  const std::vector<TensorInfo> infos = engine.inputs();
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < infos.size(); ++i)
    inputs.push_back(random_tensor({infos[i].type.dtype, shapes[i]}, static_cast<u32>(i)));
  return inputs;
}

void add_times(std::span<const LayerTime> times, Inspection& inspection) {
  std::unordered_map<std::string_view, LayerInfo*> layers;
  for (LayerInfo& layer : inspection.layers) layers.try_emplace(layer.name, &layer);
  for (const LayerTime& time : times) {
    const bool int8 = time.layer.precision == Precision::int8 && !time.layer.conversion;
    inspection.coverage.us += time.microseconds;
    inspection.coverage.int8_us += int8 ? time.microseconds : 0;
    const auto layer = layers.find(time.layer.name);
    if (layer != layers.end()) layer->second->us += time.microseconds;
  }
}

}  // namespace

void measure_coverage(const Engine& engine, const InspectOptions& options, Inspection& inspection,
                      MeasureRuns runs) {
  Coverage& coverage = inspection.coverage;
  const bool quick = coverage.int8_layers > 0 && is_quick(Inside::model(engine).graph, coverage);
  if (!quick && runs == MeasureRuns::quick) return;
  ProfileOptions profiled;
  profiled.threads = options.threads;
  profiled.runs = 3;
  profiled.tuning = options.tuning;
  profiled.device = options.device;
  constexpr f64 kMostSteps = 4e9;  // of the scalar reference, seconds
  try {
    const std::vector<Tensor> inputs = random_inputs(engine, options);
    std::optional<RunWork> work;
    if (runs == MeasureRuns::quick) work.emplace(kMostSteps);
    add_times(without_bad_alloc([&] { return profile(engine, inputs, profiled); }), inspection);
  } catch (const Error& error) {
    // Indices that random data put outside a tensor, say.
    if (error.code() == Error::Code::internal) throw;
  }
}

}  // namespace octet
