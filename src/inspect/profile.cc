// SPDX-License-Identifier: Apache-2.0
#include "octet/profile.h"

#include <algorithm>

#include "core/check.h"
#include "inspect/floor.h"
#include "runtime/context.h"

namespace octet {
namespace {

double median(std::vector<f64>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<LayerTime> profile(const Engine& engine, std::span<const Tensor> inputs,
                               const ProfileOptions& options) {
  if (options.runs < 1) fail(Error::Code::invalid_argument, "a profile needs at least one run");
  Context context = engine.make_context({.threads = options.threads});
  std::vector<Tensor> outputs = context.run(inputs);
  BoundPlan* bound = context.impl().bound_plan(inputs);
  if (bound == nullptr) {
    fail(Error::Code::unsupported,
         "the sizes inside this model depend on its data, so its layers are planned during the run "
         "and have no times of their own; measure the whole instead");
  }
  InspectOptions inspected{{}, options.threads};
  for (const Tensor& input : inputs) inspected.input_shapes.push_back(input.shape());
  const Inspection inspection = inspect(engine, inspected);
  const size_t steps = bound->plan().steps.size();
  OCTET_CHECK(inspection.layers.size() == steps);

  std::vector<std::vector<f64>> samples(steps);
  std::vector<f64> step_us(steps);
  for (s64 run = 0; run < options.runs; ++run) {
    std::ranges::fill(step_us, 0.0);
    bound->run_timed(inputs, outputs, context.impl().pool, step_us);
    for (size_t s = 0; s < steps; ++s) samples[s].push_back(step_us[s]);
  }
  const MachineRates rates = measure_rates();
  std::vector<LayerTime> times;
  double total = 0;
  for (size_t s = 0; s < steps; ++s) {
    const LayerInfo& layer = inspection.layers[s];
    const f64 floor = floor_us(layer, rates, detect_isa(), options.threads);
    times.push_back({layer, median(samples[s]), 0, floor});
    total += times.back().microseconds;
  }
  for (LayerTime& time : times) time.share = total > 0 ? time.microseconds / total : 0;
  return times;
}

}  // namespace octet
