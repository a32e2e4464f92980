// SPDX-License-Identifier: Apache-2.0
// From the float model to one of its variants.
#include <fmt/ranges.h>

#include <set>

#include "core/check.h"
#include "graph/verify.h"
#include "passes/infer_types.h"
#include "passes/pass.h"
#include "pipeline/float_model.h"
#include "pipeline/slow_engine.h"

namespace octet {
namespace {

// Decisions, and Q/DQ around what becomes integer (docs/adr/0010).
void place_precisions(Graph& graph, const FloatModel& model, const PrecisionPlan& plan,
                      CompileReport* report) {
  if (model.ranges == nullptr) {
    fail_about("CompileOptions.calibration", Error::Code::invalid_argument,
               "INT8 needs calibration data, or a model that carries Q/DQ nodes");
  }
  Ranges ranges = *model.ranges;
  assign_precision(graph, ranges, {plan.keep_float});
  if (report != nullptr) report->missing_ranges = missing_ranges(graph, ranges);
  narrow_table_inputs(graph, ranges);
  correct_biases(graph, ranges, *model.weight_codes);
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
  model.source = from.source;
  model.producer = from.producer;
  model.preprocess = from.preprocess;
  if (!calibrated || from.calibration == nullptr) return model;
  if (from.calibration->preprocess) model.preprocess = from.calibration->preprocess;
  model.calibration_samples = from.calibration->samples;
  model.range_method = methods_of(*from.ranges);
  return model;
}

void report_ranges(const FloatModel& model, CompileReport& report) {
  if (model.calibration == nullptr) return;
  for (ValueId id : values_to_observe(*model.graph)) {
    const auto at = model.ranges->find(id);
    if (at != model.ranges->end()) report.ranges.push_back(at->second);
  }
}

}  // namespace

Model quantize(const FloatModel& model, const PrecisionPlan& plan, CompileReport* report,
               const Monitor& monitor) {
  Graph graph = *model.graph;
  const bool places = plan.int8 && !model.carries_qdq;
  if (places) place_precisions(graph, model, plan, report);
  std::vector<PassTrace> trace = model.passes;
  const PassOptions options{plan.rewrites.disabled_passes,
                            plan.rewrites.stop_after_rewrites,
                            plan.simulate,
                            model.weight_codes.get(),
                            monitor,
                            "quantize"};
  run_passes(graph, quantize_passes(), options, &trace);
  finish_decisions(graph);
  forget_size_numbers(graph);
  if (!plan.int8 && !model.carries_qdq) explain_float_build(graph);
  verify(graph);
  if (model.carries_qdq && report != nullptr) {
    if (const auto slow = slower_than_float(graph)) report->warnings.push_back(*slow);
  }
  Model result = described(model, places);
  result.graph = std::move(graph);
  if (report != nullptr) {
    report->passes = std::move(trace);
    if (places) report_ranges(model, *report);
  }
  return result;
}

}  // namespace octet
