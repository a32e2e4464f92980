// SPDX-License-Identifier: Apache-2.0
// One layer alone, known by its signature: a model of one node, whose step is measured as in a network.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/check.h"
#include "inspect/explain/layer_text.h"
#include "inspect/explain/layer_trial.h"
#include "inspect/explain/layers.h"
#include "octet/selection.h"
#include "plan/select.h"
#include "runtime/context.h"
#include "runtime/inside.h"

namespace octet {
namespace {

std::vector<Tensor> random_inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    inputs.push_back(random_tensor(graph.value(graph.inputs[i]).type, static_cast<u32>(i) + 100));
  }
  return inputs;
}

class LayerMeasurement {
 public:
  LayerMeasurement(Context::Impl& context, const LayerText& layer)
      : context_(context), layer_(layer) {
    observer_.run_plan = [this](BoundPlan& bound, std::span<const Tensor> in,
                                std::span<Tensor> out) { run_plan(bound, in, out); };
  }

  LayerSelection run() {
    context_.run_observed(random_inputs(layer_.graph), observer_);
    if (selection_.kernels.empty())
      fail(Error::Code::invalid_argument, "the layer runs outside of plans, through its reference");
    return std::move(selection_);
  }

 private:
  void run_plan(BoundPlan& bound, std::span<const Tensor> in, std::span<Tensor> out) {
    const Plan& plan = bound.plan();
    bound.visit_steps(in, out, [&](size_t s, const StepArgs& args, s64 group) {
      const PlanStep& step = plan.steps[s];
      if (group == 0 && !step.kernels.empty()) measure(plan, step, args);
      bound.run_step(s, args);
    });
  }

  // Here the inputs are the caller's; in the network they lie as their producers left them, which makes kernels dearer or cheaper.
  void measure(const Plan& plan, const PlanStep& step, const StepArgs& args) {
    PlanStep as_given = step;
    as_given.given = layer_.layouts;
    Target target = context_.target;
    if (step.device == kHost) target.device = target.host;
    Selection choice = select_kernel(request_of(plan, as_given, target), target.device->backend());
    as_given.kernel = choice.chosen.kernel;
    as_given.choice = std::move(choice.choice);
    as_given.candidate = choice.chosen;
    as_given.kernels = std::move(choice.others);
    as_given.kernels.insert(as_given.kernels.begin(), std::move(choice.chosen));
    selection_ = LayerTrial({plan, as_given, target, args.queue, *context_.store}, args).compare();
    selection_.layer = layer_of(plan, as_given);
  }

  Context::Impl& context_;
  const LayerText& layer_;
  RunObserver observer_;
  LayerSelection selection_;
};

}  // namespace

LayerSelection measure_layer(std::string_view signature, const SelectionOptions& options) {
  if (signature.starts_with("Chain{"))
    fail(Error::Code::invalid_argument,
         "several layers in one kernel (Chain) cannot be run alone, only in their network; the "
         "signatures of its parts are in this text");
  const LayerText layer = parse_layer(signature);
  auto model = std::make_shared<Model>();
  model->graph = layer.graph;
  try {
    Context context =
        Inside::context(std::move(model), {options.threads, options.tuning, options.device});
    Inside::impl(context).target.keep_others = true;
    LayerSelection selection = LayerMeasurement(Inside::impl(context), layer).run();
    selection.wrong = selection.is_wrong(options);
    return selection;
  } catch (Error& error) {
    error.add_context("running the layer '" + std::string(signature) + "' alone");
    throw;
  }
}

}  // namespace octet
