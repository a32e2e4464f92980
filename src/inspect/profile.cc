// SPDX-License-Identifier: Apache-2.0
#include "octet/profile.h"

#include <algorithm>

#include "core/check.h"
#include "inspect/floor.h"
#include "inspect/layers.h"
#include "runtime/context.h"
#include "runtime/inside.h"

namespace octet {
namespace {

double median(std::vector<f64>& values) {
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

}  // namespace

std::vector<LayerTime> profile(const Engine& engine, std::span<const Tensor> inputs,
                               const ProfileOptions& options) {
  if (options.runs < 1) fail(Error::Code::invalid_argument, "a profile needs at least one run");
  Context context = engine.make_context({options.threads, options.tuning, options.device});
  context.run(inputs);
  Samples samples;
  for (int64_t run = 0; run < options.runs; ++run) samples.add_run(context, inputs);
  const MachineRates rates = measure_rates();
  std::vector<LayerTime> times;
  double total = 0;
  for (size_t s = 0; s < samples.layers.size(); ++s) {
    const LayerInfo& layer = samples.layers[s];
    const f64 floor = floor_us(layer, rates, options.threads);
    times.push_back({layer, median(samples.step_us[s]), 0, floor});
    total += times.back().microseconds;
  }
  for (LayerTime& time : times) time.share = total > 0 ? time.microseconds / total : 0;
  return times;
}

}  // namespace octet
