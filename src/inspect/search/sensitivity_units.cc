// SPDX-License-Identifier: Apache-2.0
#include "inspect/search/sensitivity_units.h"

#include <algorithm>
#include <map>

#include "graph/op_traits.h"
#include "precision/equalize.h"
#include "precision/precision.h"
#include "precision/roles.h"

namespace octet {
namespace {

constexpr const char* kBy = "sensitivity";

bool is_question(const Graph& graph, const Node& node) {
  if (node.op->quant.kind != QuantKind::compute || !has_integer_rule(graph, node)) return false;
  return node.decision.precision == Precision::int8 ||
         node.decision.code == ReasonCode::channel_loss ||
         node.decision.code == ReasonCode::kept_for_accuracy;
}

// Of each node: its work and that of whatever depends on it, as a share of all.
class Downstream {
 public:
  explicit Downstream(const Graph& graph) : graph_(graph), uses_(graph) {
    for (const Node& node : graph.nodes)
      work_.push_back(
          work_of(node, sized_types(graph, node.inputs), sized_types(graph, node.outputs)));
    for (const f64 work : work_) total_ += work;
  }

  f64 share(const std::vector<size_t>& nodes) const {
    std::vector<bool> reached(graph_.nodes.size(), false);
    for (size_t n : nodes) reached[n] = true;
    f64 sum = 0;
    for (size_t n = 0; n < reached.size(); ++n) {
      if (!reached[n]) continue;
      sum += work_[n];
      for (ValueId id : graph_.nodes[n].outputs) {
        if (id == kNoValue) continue;
        for (u32 reader : uses_.consumers(id)) reached[reader] = true;
      }
    }
    return total_ > 0 ? sum / total_ : 0;
  }

 private:
  const Graph& graph_;
  Uses uses_;
  std::vector<f64> work_;
  f64 total_ = 0;
};

}  // namespace

std::vector<TensorType> sized_types(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorType> types;
  for (ValueId id : ids) {
    TensorType type = id == kNoValue ? TensorType{} : graph.value(id).type;
    for (int i = 0; i < static_cast<int>(type.shape.rank()); ++i) {
      if (type.shape[i] < 0) type.shape[i] = 1;
    }
    types.push_back(type);
  }
  return types;
}

std::vector<SensitiveUnit> sensitive_units(const FloatModel& model, const PrecisionPlan& plan) {
  Graph graph = *model.graph;
  if (model.calibration != nullptr) apply_exponents(graph, model.calibration->exponents);
  const Requests requests = requests_of(graph, plan, model.carries_qdq, model.operators.get());
  PrecisionOptions options{plan.keep_float, requests.layers};
  if (model.calibration != nullptr) options.measured = model.calibration->losses;
  options.most_slower = plan.accuracy_time;
  assign_precision(graph, *model.ranges, options);
  const Downstream downstream(graph);
  std::vector<SensitiveUnit> units;
  std::map<ValueId, std::vector<size_t>> readers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_question(graph, node)) continue;
    units.push_back({{n}, {}, node.decision.precision, downstream.share({n})});
    readers[node.inputs[0]].push_back(n);
  }
  for (const auto& [value, nodes] : readers) {
    if (nodes.size() < 2) continue;
    units.push_back({nodes, graph.value(value).name, graph.nodes[nodes[0]].decision.precision,
                     downstream.share(nodes)});
  }
  return units;
}

std::vector<LayerRequest> alone(const FloatModel& model, const std::vector<SensitiveUnit>& units,
                                const SensitiveUnit* unit) {
  std::vector<LayerRequest> requests(model.graph->nodes.size());
  const auto ask = [&](const SensitiveUnit& of, Precision precision) {
    for (size_t n : of.nodes) requests[n] = {precision, Precision::none, kBy, {}};
  };
  for (const SensitiveUnit& other : units) ask(other, Precision::f32);
  if (unit != nullptr) ask(*unit, Precision::int8);
  return requests;
}

std::vector<LayerRequest> without(const FloatModel& model, const SensitiveUnit& unit) {
  std::vector<LayerRequest> requests(model.graph->nodes.size());
  for (size_t n : unit.nodes) requests[n] = {Precision::f32, Precision::none, kBy, {}};
  return requests;
}

}  // namespace octet
