// SPDX-License-Identifier: Apache-2.0
#include "octet/selection.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_map>

#include "backends/backends.h"
#include "inspect/explain/layer_trial.h"
#include "inspect/explain/layers.h"
#include "octet/machine.h"
#include "octet/tuning.h"
#include "plan/bind.h"
#include "plan/device.h"
#include "plan/plan.h"
#include "plan/tuning.h"
#include "runtime/context.h"
#include "runtime/inside.h"
#include "runtime/model.h"
#include "runtime/staged.h"

namespace octet {
namespace {

// Another program can stretch every run of a kernel for a while: what looks wrong is measured again in later passes over the
// network, and the fastest run of all counts.
constexpr int kPasses = 4;
constexpr int kPassesOnDevice = 2;  // whose clock runs for its own work alone
constexpr int kRoundsOfLaterPasses = 60;
constexpr std::chrono::milliseconds kPause{100};

// Passes over one network. Equal data run equal layers, so that a layer keeps its place.
class Measurement {
 public:
  Measurement(Context::Impl& context, const SelectionOptions& options)
      : context_(context), options_(options) {
    observer_.run_plan = [this](BoundPlan& bound, std::span<const Tensor> in,
                                std::span<Tensor> out) { run_plan(bound, in, out); };
    observer_.after_node = [this](const Node&, std::span<const Tensor>, std::span<const Tensor>,
                                  f64) { ++single_; };
  }

  void run_pass(std::span<const Tensor> inputs) {
    at_ = 0;
    single_ = 0;
    context_.run_observed(inputs, observer_);
    ++passes_;
  }

  int passes() const { return passes_; }
  bool looks_wrong() const { return std::ranges::any_of(layers_, &LayerSelection::wrong); }
  SelectionReport take() { return {std::move(layers_), single_}; }

 private:
  void run_plan(BoundPlan& bound, std::span<const Tensor> in, std::span<Tensor> out) {
    const Plan& plan = bound.plan();
    if (passes_ == 0) {
      std::vector<Prepared> made = prepare_others(plan, {*context_.store, context_.queues.pool()});
      prepared_.insert(prepared_.end(), made.begin(), made.end());
    }
    bound.visit_steps(in, out, [&](size_t s, const StepArgs& args, s64 group) {
      const PlanStep& step = plan.steps[s];
      // One group stands for all.
      if (group == 0 && step.kernels.size() > 1) {
        bound.await_inputs(s);
        measure({plan, step, target_of(step), args.queue, *context_.store}, args);
      } else if (group == 0 && !step.kernels.empty()) {
        ++single_;
      }
      bound.run_step(s, args);
    });
  }

  // As the step's own device was asked.
  Target target_of(const PlanStep& step) const {
    Target target = context_.target;
    if (step.device == kHost) target.device = target.host;
    return target;
  }

  void measure(const KernelTrial::Setting& setting, const StepArgs& args) {
    const bool first = at_ == layers_.size();
    if (first) {
      layers_.emplace_back();
      layers_.back().layer = layer_of(setting.plan, setting.step);
    }
    LayerSelection& selection = layers_[at_++];
    if (!first && !selection.wrong) return;
    if (const LayerSelection* twin = measured_twin(setting, selection)) {
      selection.kernels = twin->kernels;
      selection.wrong = twin->wrong;
      return;
    }
    LayerTrial trial(setting, args);
    if (first) {
      selection.kernels = trial.compare().kernels;
    } else {
      trial.run_rounds(selection, kRoundsOfLaterPasses);
    }
    selection.wrong = selection.is_wrong(options_);
  }

  // An earlier layer of the same shapes and kernel. On a device of its own memory, where all data are as far away, its times are this
  // one's too.
  const LayerSelection* measured_twin(const KernelTrial::Setting& setting,
                                      const LayerSelection& selection) {
    if (setting.target.device->has_host_memory()) return nullptr;
    const size_t own = at_ - 1;
    const std::string key = selection.layer.signature + '\n' + setting.step.kernel;
    const size_t first = first_alike_.try_emplace(key, own).first->second;
    return first < own ? &layers_[first] : nullptr;
  }

  Context::Impl& context_;
  const SelectionOptions& options_;
  RunObserver observer_;
  std::vector<Prepared> prepared_;  // that trials find what they need
  std::vector<LayerSelection> layers_;
  std::unordered_map<std::string, size_t> first_alike_;  // by signature and kernel
  size_t at_ = 0;                                        // the layer that comes next in this pass
  int64_t single_ = 0;
  int passes_ = 0;
};

// Those of the plan, made to keep other kernels, that have no choice.
void add_unmeasured(const Plan& plan, std::vector<LayerInfo>& layers) {
  for (const PlanStep& step : plan.steps) {
    if (step.kernels.size() < 2 || step.choice.by == KernelChoice::By::tuning) continue;
    LayerInfo layer = layer_of(plan, step);
    // No file keeps a longer name.
    if (!layer.signature.empty() && layer.signature.size() <= kMaxTunedName)
      layers.push_back(std::move(layer));
  }
}

}  // namespace

size_t LayerSelection::fastest() const {
  const auto at = std::ranges::min_element(kernels, {}, &KernelTime::microseconds);
  return static_cast<size_t>(at - kernels.begin());
}

double LayerSelection::ratio() const {
  return kernels.front().microseconds / kernels[fastest()].microseconds;
}

bool LayerSelection::is_wrong(const SelectionOptions& options) const {
  const f64 chosen = kernels.front().microseconds, least = kernels[fastest()].microseconds;
  return chosen > least * (1 + options.tolerance) && chosen > least + options.least_us;
}

bool LayerSelection::same_results() const {
  return std::ranges::all_of(kernels, &KernelTime::same_result);
}

void tune(const SelectionReport& report, int threads, Tuning& tuning) {
  for (const LayerSelection& layer : report.layers) {
    const bool moves = layer.wrong && layer.same_results();
    const KernelTime& best = layer.kernels[moves ? layer.fastest() : 0];
    const DeviceInfo device = device_info(layer.layer.device);
    tuning.set({device.chip, device.level, threads, layer.layer.signature},
               {best.kernel, best.microseconds});
  }
}

std::vector<LayerInfo> unmeasured_layers(const Engine& engine, std::span<const Shape> shapes,
                                         const SelectionOptions& options) {
  Target target = make_target(options.device, options.threads, options.tuning);
  target.keep_others = true;
  const Graph& graph = Inside::model(engine).graph;
  std::vector<LayerInfo> layers;
  try {
    add_unmeasured(make_plan(graph, shapes, target), layers);
  } catch (const NeedsData&) {
    const Stage stage = make_stage(graph, first_start(graph, shapes));
    std::vector<Shape> planned;
    for (ValueId id : stage.planned.inputs) planned.push_back(stage.planned.value(id).type.shape);
    if (!stage.planned.outputs.empty())
      add_unmeasured(make_plan(stage.planned, planned, target), layers);
  }
  return layers;
}

SelectionReport measure_selection(const Engine& engine, std::span<const Tensor> inputs,
                                  const SelectionOptions& options) {
  Context context = engine.make_context({options.threads, options.tuning, options.device});
  Inside::impl(context).target.keep_others = true;
  Measurement measurement(Inside::impl(context), options);
  measurement.run_pass(inputs);
  const bool on_host = Inside::impl(context).target.device->has_host_memory();
  const int passes = on_host ? kPasses : kPassesOnDevice;
  while (measurement.looks_wrong() && measurement.passes() < passes) {
    std::this_thread::sleep_for(kPause);
    measurement.run_pass(inputs);
  }
  return measurement.take();
}

}  // namespace octet
