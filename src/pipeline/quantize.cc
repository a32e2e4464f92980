// SPDX-License-Identifier: Apache-2.0
// From the float model to one of its variants.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/check.h"
#include "graph/verify.h"
#include "passes/infer_types.h"
#include "passes/pass.h"
#include "pipeline/bodies.h"
#include "pipeline/clipped_share.h"
#include "pipeline/float_model.h"
#include "pipeline/provenance.h"
#include "pipeline/slow_engine.h"
#include "pipeline/target.h"
#include "precision/constraints.h"
#include "precision/explicit_weights.h"
#include "precision/halves.h"
#include "precision/level_channels.h"
#include "precision/round_weights.h"
#include "runtime/kept_graph.h"

namespace octet {
namespace {

// Decisions, and Q/DQ around what becomes integer (docs/adr/0010).
void place_precisions(Graph& graph, const FloatModel& model, PrecisionOptions options,
                      CompileReport* report) {
  if (model.ranges == nullptr) {
    fail_about("CompileOptions.calibration", Error::Code::invalid_argument,
               "INT8 needs calibration data, or a model with Q/DQ nodes around its activations");
  }
  Ranges ranges = *model.ranges;
  if (model.calibration != nullptr) apply_exponents(graph, model.calibration->exponents);
  std::vector<OverruledGuard> overruled;
  if (report != nullptr) options.overruled = &overruled;
  if (model.calibration != nullptr) options.measured = model.calibration->losses;
  assign_precision(graph, ranges, options);
  if (report != nullptr) {
    report->missing_ranges = missing_ranges(graph, ranges);
    if (std::string warning = warning_of(std::move(overruled)); !warning.empty())
      report->warnings.push_back(std::move(warning));
  }
  narrow_table_inputs(graph, ranges);
  level_channels(graph, ranges);
  correct_biases(graph, ranges, *model.weight_codes);
  round_weights(graph, *model.weight_codes);
  mark_results(graph, options.requests, ranges);
  place_qdq(graph, ranges, *model.weight_codes);
}

void explain_float_build(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.decision.precision != Precision::f32) continue;
    node.decision = {Precision::f32, ReasonCode::float_build, "built without INT8"};
  }
}

std::string methods_of(const Ranges& ranges) {
  std::set<std::string> methods;
  for (const auto& [id, range] : ranges) {
    if (range.method) methods.insert(to_string(*range.method));
  }
  return fmt::format("{}", fmt::join(methods, ", "));
}

// What the model remembers of its making.
Model described(const FloatModel& from, bool calibrated) {
  Model model;
  model.producer = from.producer;
  model.preprocess = from.preprocess;
  model.equalized = from.equalized;
  if (!calibrated || from.calibration == nullptr) return model;
  if (from.calibration->preprocess) model.preprocess = from.calibration->preprocess;
  model.calibration_samples = from.calibration->samples;
  model.calibrated_inputs = from.calibration->profiles;
  model.range_method = methods_of(*from.ranges);
  for (const auto& [id, exponents] : from.calibration->exponents)
    model.equalized.emplace(from.graph->value(id).name, exponents);
  return model;
}

// Codes, and what is made of them, stand for the numbers that they are of.
void name_codes(const Graph& graph, EqualizedValues& equalized) {
  for (const Node& node : graph.nodes) {
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    const auto of = equalized.find(graph.value(node.inputs[0]).name);
    if (of != equalized.end()) equalized.emplace(graph.value(node.outputs[0]).name, of->second);
  }
}

void report_ranges(const FloatModel& model, CompileReport& report) {
  if (model.calibration == nullptr) return;
  for (ValueId id : values_to_observe(*model.graph)) {
    const auto at = model.ranges->find(id);
    if (at != model.ranges->end()) report.ranges.push_back(at->second);
  }
}

// What the layers that are not INT8 become.
HalfPlan half_plan(const FloatModel& model, const PrecisionPlan& plan, const Requests& requests) {
  HalfPlan halves;
  if (plan.simulate) return halves;
  const FloatTypes types = float_types(plan);
  if (types.f16 || types.bf16) halves.type = types.f16 ? Precision::f16 : Precision::bf16;
  halves.products_only = types.products_only;
  halves.asked = requests_by_node(*model.graph, requests.layers);
  const KeptNames names(*model.graph, plan.keep_float);
  for (const Node& node : model.graph->nodes) {
    if (names.keeper_of(node) == nullptr) continue;
    for (const std::string& origin : node.origins) halves.asked[origin].precision = Precision::f32;
  }
  if (model.instead_of_f16 != nullptr) halves.instead = *model.instead_of_f16;
  return halves;
}

// What became of the constraints.
void judge(const Graph& graph, const Requests& requests, const PrecisionPlan& plan,
           CompileReport* report) {
  if (requests.nodes.empty() || plan.constraint_mode == ConstraintMode::none) return;
  const std::vector<NodePrecision> nodes = node_precisions(graph, requests.nodes);
  if (plan.constraint_mode == ConstraintMode::obey) return check_obeyed(nodes);
  if (report == nullptr) return;
  const std::vector<std::string> violations = violations_of(nodes);
  report->warnings.insert(report->warnings.end(), violations.begin(), violations.end());
}

// Where codes that the model brought cost more than they bring.
void warn_of_own_codes(const Graph& graph, const FloatModel& model, CompileReport& report) {
  if (!model.carries_qdq && !has_integer_products(graph)) return;
  if (const auto slow = slower_than_float(graph)) report.warnings.push_back(*slow);
}

// What integer operators are about to be made of, if there is any.
std::optional<Graph> if_quantized(const Graph& graph) {
  if (std::ranges::none_of(graph.nodes, is_dequantize)) return std::nullopt;
  return graph;
}

// Where Q/DQ became integer operators, what they were made of.
void keep(Graph placed, const FloatModel& model, const Graph& fused, Model& result) {
  drop_marks(placed);
  Graph graph = with_explicit_weights(std::move(placed), fused, *model.weight_codes);
  forget_size_numbers(graph);
  if (model.ranges != nullptr)
    result.calibration_clipped = clipped_in_calibration(graph, *model.graph, *model.ranges);
  result.with_qdq = std::make_shared<const KeptGraph>(std::move(graph));
}

// Each body as its own model.
void quantize_bodies(Graph& graph, const FloatModel& model, const PrecisionPlan& plan,
                     CompileReport* report, const Monitor& monitor) {
  // Names of layers and types of 16 bits are asked of the graph around.
  PrecisionPlan plain = plan;
  plain.constraints = {};
  plain.constraint_mode = ConstraintMode::none;
  plain.f16 = plain.bf16 = plain.fastest = false;
  const std::unordered_set<std::string_view> outer = node_names(*model.graph);
  for (const FloatBody& body : model.bodies) {
    CompileReport inside;
    // A name of a layer around it is no operator in it.
    const std::unordered_set<std::string_view> inner = node_names(*body.model->graph);
    plain.keep_float = plan.keep_float;
    std::erase_if(plain.keep_float, [&](const std::string& name) {
      return outer.contains(name) && !inner.contains(name);
    });
    const Model done = quantize(*body.model, plain, &inside, monitor);
    replace_body(graph, body.model->graph.get(), std::make_shared<const Graph>(done.graph));
    if (report == nullptr) continue;
    for (MissingRange& missing : inside.missing_ranges) {
      missing.tensor = body.model->place + missing.tensor;
      report->missing_ranges.push_back(std::move(missing));
    }
    report->ranges.insert(report->ranges.end(), inside.ranges.begin(), inside.ranges.end());
  }
}

Requests asked(const FloatModel& model, const PrecisionPlan& plan,
               std::vector<LayerRequest> layers) {
  Requests requests = requests_of(*model.graph, plan, model.carries_qdq, model.operators.get());
  if (plan.constraint_mode == ConstraintMode::none) requests.layers.clear();
  if (!layers.empty()) requests.layers = std::move(layers);
  return requests;
}

}  // namespace

Model quantize(const FloatModel& model, const PrecisionPlan& plan, CompileReport* report,
               const Monitor& monitor) {
  return quantize_layers(model, plan, {}, report, monitor);
}

Model quantize_layers(const FloatModel& model, const PrecisionPlan& plan,
                      std::vector<LayerRequest> layers, CompileReport* report,
                      const Monitor& monitor) {
  Graph graph = *model.graph;
  // A cache has no ranges of bodies: they stay in f32.
  const bool places =
      plan.int8 && !model.carries_qdq && (model.place.empty() || model.ranges != nullptr);
  // A name may be of any body.
  if (places && model.place.empty()) check_kept_names(graph, plan.keep_float);
  Requests requests = asked(model, plan, std::move(layers));
  if (places) {
    PrecisionOptions precisions{plan.keep_float, requests.layers};
    precisions.most_slower = plan.accuracy_time;
    place_precisions(graph, model, std::move(precisions), report);
  }
  std::optional<Graph> placed = plan.simulate ? std::nullopt : if_quantized(graph);
  quantize_bodies(graph, model, plan, report, monitor);
  std::vector<PassTrace> trace = model.passes;
  const PassOptions options{plan.rewrites.disabled_passes,
                            plan.rewrites.stop_after_rewrites,
                            plan.simulate,
                            model.weight_codes.get(),
                            monitor,
                            "quantize"};
  run_passes(graph, quantize_passes(), options, &trace);
  drop_marks(graph);
  finish_decisions(graph);
  if (!places && !model.carries_qdq) explain_float_build(graph);
  narrow_layers(graph, half_plan(model, plan, requests));
  forget_size_numbers(graph);
  verify(graph);
  judge(graph, requests, plan, report);
  if (report != nullptr && model.place.empty()) warn_of_own_codes(graph, model, *report);
  Model result = described(model, places);
  name_codes(graph, result.equalized);
  if (placed) name_codes(*placed, result.equalized);
  if (placed) keep(std::move(*placed), model, graph, result);
  result.graph = std::move(graph);
  if (model.place.empty()) result.provenance = provenance_of(model, plan, places);
  result.constraints = {plan.constraint_mode, plan.constraints, std::move(requests.nodes)};
  if (report != nullptr) {
    report->passes = std::move(trace);
    if (places) report_ranges(model, *report);
  }
  return result;
}

}  // namespace octet
