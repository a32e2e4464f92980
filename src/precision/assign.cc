// SPDX-License-Identifier: Apache-2.0
// The default policy: whatever has an integer kernel runs in INT8. Multiplications decide for themselves; additions,
// pools, tables and moves join when both their inputs come as codes and somebody reads codes from them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "ops/attributes/marks.h"
#include "passes/match.h"
#include "passes/split_conv_transpose.h"
#include "precision/asked.h"
#include "precision/decide.h"
#include "precision/demote.h"
#include "precision/guards.h"
#include "precision/plugin_role.h"
#include "precision/precision.h"
#include "precision/roles.h"
#include "precision/scores.h"

namespace octet {
namespace {

// What a node would be by itself: its neighbors are asked behind it (precision/demote.h).
class FirstDecisions {
 public:
  FirstDecisions(Graph& graph, const Uses& uses, const Ranges& ranges, const AskedTypes& asked,
                 const LossGuards& guards)
      : graph_(graph),
        uses_(uses),
        ranges_(ranges),
        asked_(asked),
        guards_(guards),
        scores_(nodes_of_scores(graph, uses)) {}

  Decision of(const Node& node) const {
    if (is_choosing_plugin(node)) return of_plugin(node);
    const ValueId result = result_of(node);
    const TensorType type = result == kNoValue ? TensorType{} : graph_.value(result).type;
    if (type.shape.is_unknown() || type.dtype != Dtype::f32) return without_real_type(type);
    if (auto kept = asked_.real(node)) return *std::move(kept);
    if (is_of_scores(node))
      return decide_real(ReasonCode::codes_of_rows,
                         "part of the scores of attention, whose Softmax computes in f32");
    if (!has_integer_rule(graph_, node)) return no_rule(node);
    if (code_inputs(graph_, node).empty())
      return decide_real(ReasonCode::no_real_input, "no input is a real-valued activation");
    if (auto missing = missing_range(node)) return *std::move(missing);
    if (auto stays = guards_.keeps(node)) return *std::move(stays);
    return of_codes(node);
  }

 private:
  // Its neighbors decide: until then it may take and give codes.
  Decision of_plugin(const Node& node) const {
    if (auto kept = asked_.real(node)) return *std::move(kept);
    return decide_int8(ReasonCode::joins_codes, "has combinations of codes");
  }

  bool is_of_scores(const Node& node) const {
    return scores_[static_cast<size_t>(&node - graph_.nodes.data())];
  }

  static Decision no_rule(const Node& node) {
    if (node.op->quant.quantize == nullptr)
      return decide_real(ReasonCode::no_integer_form,
                         fmt::format("{} has no integer form", node.op->name));
    return decide_real(
        ReasonCode::kept_for_accuracy,
        fmt::format("calibration leaves {} in f32: codes before it cost accuracy (docs/adr/0010)",
                    node.op->name));
  }

  std::optional<Decision> missing_range(const Node& node) const {
    for (ValueId id : ranged_values(graph_, node)) {
      const auto at = ranges_.find(id);
      const std::string& name = graph_.value(id).name;
      if (at == ranges_.end())
        return decide_real(ReasonCode::no_range, fmt::format("tensor '{}' has no range", name));
      if (!std::isfinite(at->second.threshold) || !(at->second.threshold > 0.0f)) {
        return decide_real(ReasonCode::unusable_range,
                           fmt::format("tensor '{}' has no usable range (threshold {})", name,
                                       at->second.threshold));
      }
    }
    return std::nullopt;
  }

  Decision of_codes(const Node& node) const {
    const QuantRule& rule = node.op->quant;
    if (rule.kind == QuantKind::move_codes) {
      if (rule.quantize != nullptr) {
        const std::string reject = rule.quantize({graph_, node, {}, {}, Dtype::u8}).reject;
        if (!reject.empty()) return decide_real(ReasonCode::refused_by_operator, reject);
      }
      return decide_int8(ReasonCode::moves_codes, "moves codes; the scale stays");
    }
    if (rule.kind == QuantKind::table)
      return decide_int8(ReasonCode::table_of_codes, "a 256-entry table between two INT8 tensors");
    if (rule.kind == QuantKind::arithmetic)
      return decide_int8(ReasonCode::joins_codes, "its inputs and its reader are INT8");
    return product(node);
  }

  Decision product(const Node& node) const {
    if (node.op->quant.quantize == nullptr) {
      if (uses_.is_output(node.outputs[0]))
        return decide_real(ReasonCode::model_output, "its result is an output of the model");
      std::string reject = unsplittable_conv_transpose(graph_, node);
      if (!reject.empty()) return decide_real(ReasonCode::refused_by_operator, std::move(reject));
    }
    if (node.op->traits->recurrence_of_codes != nullptr)
      return decide_int8(
          ReasonCode::constant_weights,
          "constant weights: s8 per row, s32 accumulator; its state is rounded to codes in "
          "every step, gates and results stay f32");
    if (graph_.is_constant(node.input(1)))
      return decide_int8(ReasonCode::constant_weights,
                         "constant weights: s8 per channel, s32 accumulator");
    return decide_int8(ReasonCode::product_of_activations,
                       "product of two activations, both per tensor");
  }

  Graph& graph_;  // to which an operator may add constants when it is asked
  const Uses& uses_;
  const Ranges& ranges_;
  const AskedTypes& asked_;
  const LossGuards& guards_;
  const std::vector<bool> scores_;
};

}  // namespace

std::string warning_of(std::vector<OverruledGuard> overruled) {
  constexpr size_t kMostTold = 3;
  if (overruled.empty()) return {};
  std::ranges::stable_sort(overruled, std::greater{}, &OverruledGuard::lost);
  std::string text =
      fmt::format("{} layer{} INT8 since that is asked for, and would stay real for accuracy:",
                  overruled.size(), overruled.size() == 1 ? " is" : "s are");
  for (size_t i = 0; i < std::min(kMostTold, overruled.size()); ++i)
    text += fmt::format("{} '{}' ({})", i == 0 ? "" : ",", overruled[i].layer, overruled[i].cost);
  if (overruled.size() > kMostTold)
    text += fmt::format(" and {} more", overruled.size() - kMostTold);
  return text;
}

std::vector<ValueId> values_to_observe(const Graph& graph) {
  std::vector<ValueId> ids;
  std::vector<bool> seen(graph.value_count(), false);
  for (const Node& node : graph.nodes) {
    if (!has_integer_rule(graph, node)) continue;
    for (ValueId id : ranged_values(graph, node)) {
      if (!seen[id]) ids.push_back(id);
      seen[id] = true;
    }
  }
  return ids;
}

void assign_precision(Graph& graph, const Ranges& ranges, const PrecisionOptions& options) {
  const Uses uses(graph);
  const AskedTypes asked(graph, options);
  const LossGuards guards(graph, uses, ranges, asked, options);
  const FirstDecisions first(graph, uses, ranges, asked, guards);
  for (Node& node : graph.nodes) {
    node.decision = first.of(node);
    // Its result becomes codes again, which are equal on every machine.
    if (node.decision.code == ReasonCode::channel_loss)
      set_attribute<&ExactAttributes::exact>(node.attrs, true);
  }
  demote_without_neighbors(graph, uses, ranges, asked);
}

}  // namespace octet
