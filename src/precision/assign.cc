// SPDX-License-Identifier: Apache-2.0
// The default policy: whatever has an integer kernel runs in INT8. Multiplications decide for themselves; additions,
// pools, tables and moves join when both their inputs come as codes and somebody reads codes from them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_set>

#include "core/check.h"
#include "ops/attributes/marks.h"
#include "ops/attributes/window.h"
#include "ops/quantized/quantize_recurrent.h"
#include "passes/match.h"
#include "passes/split_conv_transpose.h"
#include "precision/constraints.h"
#include "precision/level_channels.h"
#include "precision/plugin_role.h"
#include "precision/precision.h"
#include "precision/relevance.h"
#include "precision/roles.h"
#include "precision/scores.h"

namespace octet {
namespace {

// Beyond this share of the model's outputs, a layer is worth its time in f32 (docs/adr/0030); a depthwise one, which takes little of it in
// either type, beyond an eighth of that.
constexpr f64 kMostLost = 0.02;
constexpr f64 kMostLostDepthwise = 0.0025;
// Of what a normalization reads (docs/adr/0010).
constexpr f64 kMostLostBeforeNorm = 0.0004;
// Of a recurrent layer's, which the next layer rounds again: 20 dB.
constexpr f64 kMostLostOfState = 0.01;

class Assigner {
 public:
  Assigner(Graph& graph, const Ranges& ranges, const PrecisionOptions& options)
      : graph_(graph),
        ranges_(ranges),
        options_(options),
        kept_(graph, options.keep_float),
        uses_(graph),
        relevance_(graph, ranges),
        scores_(nodes_of_scores(graph, uses_)) {}

  void run() {
    for (Node& node : graph_.nodes) {
      node.decision = first_decision(node);
      // Its result becomes codes again, which are equal on every machine.
      if (lossy_.contains(&node)) set_attribute<&ExactAttributes::exact>(node.attrs, true);
    }
    demote();
  }

 private:
  static Decision real(ReasonCode code, std::string reason) {
    return {Precision::f32, code, std::move(reason)};
  }
  static Decision int8(ReasonCode code, std::string reason) {
    return {Precision::int8, code, std::move(reason)};
  }

  bool kept_by_user(const Node& node) const { return kept_.keeper_of(node) != nullptr; }

  const LayerRequest& request_of(const Node& node) const {
    static const LayerRequest kNothing;
    if (options_.requests.empty()) return kNothing;
    return options_.requests[static_cast<size_t>(&node - graph_.nodes.data())];
  }

  bool is_asked_for(const Node& node) const {
    return request_of(node).precision == Precision::int8;
  }

  static bool is_real_type(Precision type) {
    return type == Precision::f32 || type == Precision::f16 || type == Precision::bf16;
  }

  // Asked for by a constraint: reals, or a result that codes are not.
  std::string asked_f32(const Node& node) const {
    const LayerRequest& request = request_of(node);
    if (is_real_type(request.precision)) return request.by;
    const bool real_result = is_real_type(request.output) && gives_codes_only(node, 0);
    return real_result && !is_asked_for(node) ? request.output_by : "";
  }

  static Decision no_rule(const Node& node) {
    if (node.op->quant.quantize == nullptr)
      return real(ReasonCode::no_integer_form,
                  fmt::format("{} has no integer form", node.op->name));
    return real(
        ReasonCode::kept_for_accuracy,
        fmt::format("calibration leaves {} in f32: codes before it cost accuracy (docs/adr/0010)",
                    node.op->name));
  }

  std::optional<Decision> missing_range(const Node& node) const {
    for (ValueId id : ranged_values(graph_, node)) {
      const auto at = ranges_.find(id);
      const std::string& name = graph_.value(id).name;
      if (at == ranges_.end())
        return real(ReasonCode::no_range, fmt::format("tensor '{}' has no range", name));
      if (!std::isfinite(at->second.threshold) || !(at->second.threshold > 0.0f)) {
        return real(ReasonCode::unusable_range,
                    fmt::format("tensor '{}' has no usable range (threshold {})", name,
                                at->second.threshold));
      }
    }
    return std::nullopt;
  }

  // Its neighbors decide (demote): until then it may take and give codes.
  Decision first_of_plugin(const Node& node) const {
    if (kept_by_user(node)) return real(ReasonCode::kept_by_user, "kept in f32 by the user");
    if (const std::string by = asked_f32(node); !by.empty())
      return real(ReasonCode::kept_by_user, fmt::format("kept in f32 by the user: '{}'", by));
    return int8(ReasonCode::joins_codes, "has combinations of codes");
  }

  Decision first_decision(const Node& node) {
    if (is_choosing_plugin(node)) return first_of_plugin(node);
    const ValueId result = result_of(node);
    const TensorType type = result == kNoValue ? TensorType{} : graph_.value(result).type;
    const bool kept = kept_by_user(node);
    if (type.shape.is_unknown() || type.dtype != Dtype::f32) return without_real_type(type);
    if (kept) return real(ReasonCode::kept_by_user, "kept in f32 by the user");
    if (const std::string by = asked_f32(node); !by.empty())
      return real(ReasonCode::kept_by_user, fmt::format("kept in f32 by the user: '{}'", by));
    if (is_of_scores(node))
      return real(ReasonCode::codes_of_rows,
                  "part of the scores of attention, whose Softmax computes in f32");
    if (!has_integer_rule(graph_, node)) return no_rule(node);
    if (code_inputs(graph_, node).empty())
      return real(ReasonCode::no_real_input, "no input is a real-valued activation");
    if (auto missing = missing_range(node)) return *std::move(missing);
    if (const Loss loss = channel_loss(node); guards(node, loss)) {
      lossy_.insert(&node);
      return real(ReasonCode::channel_loss, loss.sentence);
    }
    if (const Loss loss = normalization_loss(node); guards(node, loss))
      return real(ReasonCode::kept_for_accuracy, loss.sentence);
    if (auto stays = real_recurrence(node)) return *std::move(stays);
    return first_int8(node);
  }

  // What INT8 would cost; no sentence: little.
  struct Loss {
    f64 lost = 0;
    std::string sentence = {};
  };

  // Whether it keeps the node real: whoever asks for INT8 has it, and is told.
  bool guards(const Node& node, const Loss& loss) const {
    if (loss.sentence.empty()) return false;
    if (!is_asked_for(node)) return true;
    if (options_.overruled != nullptr)
      options_.overruled->push_back({node.name, loss.lost, loss.sentence});
    return false;
  }

  bool is_of_scores(const Node& node) const {
    return scores_[static_cast<size_t>(&node - graph_.nodes.data())];
  }

  // A normalization of each channel by itself takes the rounding of its input along, which adds up where many stand in a row.
  Loss normalization_loss(const Node& node) const {
    if (!is_op(node, "InstanceNormalization")) return {};
    const std::string& name = graph_.value(node.inputs[0]).name;
    const std::optional<f64> lost = lost_by_normalization(graph_, uses_, node, ranges_);
    if (!lost)
      return {1,
              fmt::format("calibration does not know what codes of '{}' would cost (docs/adr/0010)",
                          name)};
    if (*lost <= kMostLostBeforeNorm) return {};
    return {*lost, fmt::format("codes of '{}' would cost {:.3f} % of what it reads, more than "
                               "{:.3f} (docs/adr/0010)",
                               name, *lost * 100, kMostLostBeforeNorm * 100)};
  }

  // A recurrent layer without a form of codes, or whose state loses too much in them.
  std::optional<Decision> real_recurrence(const Node& node) const {
    if (node.op->traits->recurrence_of_codes == nullptr) return std::nullopt;
    if (std::string why = no_recurrence_of_codes(graph_, node); !why.empty())
      return real(ReasonCode::refused_by_operator, std::move(why));
    const f64 lost = lost_by_recurrence(graph_, node, ranges_.at(node.inputs[0]));
    if (lost <= kMostLostOfState) return std::nullopt;
    const Loss loss{lost,
                    fmt::format("codes of '{}' and of its state would cost {:.1f} % of its result",
                                graph_.value(node.inputs[0]).name, lost * 100)};
    if (!guards(node, loss)) return std::nullopt;
    return real(ReasonCode::kept_for_accuracy, loss.sentence);
  }

  bool is_depthwise(const Node& node) const {
    const Shape& weights = graph_.value(node.input(1)).type.shape;
    return conv_groups(node) > 1 && weights.rank() == 4 && weights[1] == 1;
  }

  // A convolution whose input loses too much in codes.
  Loss channel_loss(const Node& node) {
    if (node.op->quant.kind != QuantKind::compute) return {};
    const auto input = ranges_.find(node.inputs[0]), output = ranges_.find(node.outputs[0]);
    if (input == ranges_.end() || output == ranges_.end()) return {};
    // What a user gave has the last word.
    if (input->second.method == RangeMethod(RangeRule::given)) return {};
    const f64 lost =
        lost_share(graph_, node, input->second, output->second, relevance_.of(node.outputs[0]));
    const f64 most = is_depthwise(node) ? kMostLostDepthwise : kMostLost;
    if (lost <= most) return {};
    return {
        lost,
        fmt::format("one scale for all channels of '{}' would cost {:.1f} % of the model's outputs",
                    graph_.value(node.inputs[0]).name, lost * 100)};
  }

  Decision first_int8(const Node& node) const {
    const QuantRule& rule = node.op->quant;
    if (rule.kind == QuantKind::move_codes) {
      if (rule.quantize != nullptr) {
        const std::string reject = rule.quantize({graph_, node, {}, {}, Dtype::u8}).reject;
        if (!reject.empty()) return real(ReasonCode::refused_by_operator, reject);
      }
      return int8(ReasonCode::moves_codes, "moves codes; the scale stays");
    }
    if (rule.kind == QuantKind::table)
      return int8(ReasonCode::table_of_codes, "a 256-entry table between two INT8 tensors");
    if (rule.kind == QuantKind::arithmetic)
      return int8(ReasonCode::joins_codes, "its inputs and its reader are INT8");
    return product(node);
  }

  Decision product(const Node& node) const {
    if (node.op->quant.quantize == nullptr) {
      if (uses_.is_output(node.outputs[0]))
        return real(ReasonCode::model_output, "its result is an output of the model");
      std::string reject = unsplittable_conv_transpose(graph_, node);
      if (!reject.empty()) return real(ReasonCode::refused_by_operator, std::move(reject));
    }
    if (node.op->traits->recurrence_of_codes != nullptr)
      return int8(ReasonCode::constant_weights,
                  "constant weights: s8 per row, s32 accumulator; its state is rounded to codes in "
                  "every step, gates and results stay f32");
    if (graph_.is_constant(node.input(1)))
      return int8(ReasonCode::constant_weights,
                  "constant weights: s8 per channel, s32 accumulator");
    return int8(ReasonCode::product_of_activations, "product of two activations, both per tensor");
  }

  bool is_int8(s32 index) const {
    return index >= 0 &&
           graph_.nodes[static_cast<size_t>(index)].decision.precision == Precision::int8;
  }

  // A joining node needs codes at every activation input. Moving the graph's input as codes is fine: it is quantized once.
  std::string missing_codes(const Node& node) const {
    const bool moves = node.op->quant.kind == QuantKind::move_codes;
    for (ValueId id : code_inputs(graph_, node)) {
      const s32 producer = uses_.producer(id);
      if (is_int8(producer) || (producer < 0 && moves)) continue;
      return fmt::format(
          "its input '{}' is f32, produced by {}", graph_.value(id).name,
          producer < 0 ? "the caller" : describe(graph_.nodes[static_cast<size_t>(producer)]));
    }
    return {};
  }

  bool has_int8_reader(const Node& node) const {
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      for (u32 reader : uses_.consumers(id)) {
        if (is_int8(static_cast<s32>(reader))) return true;
      }
    }
    return false;
  }

  static bool joins(const Node& node) {
    return node.decision.precision == Precision::int8 &&
           node.op->quant.kind != QuantKind::compute && !is_choosing_plugin(node);
  }

  void choose(Node& node) const {
    const PluginChooser chooser{graph_, uses_, ranges_, [&](s32 other) { return is_int8(other); },
                                is_asked_for(node)};
    node.decision = choose_for_plugin(chooser, node);
  }

  // What is asked for in INT8 reads codes of reals, and gives codes that are reals again.
  void demote_asked(Node& node) const {
    if (!uses_.is_output(node.outputs[0]) || has_int8_reader(node)) return;
    node.decision = real(ReasonCode::model_output,
                         "its result is an output of the model, and its integer form gives codes");
  }

  // Codes go missing downwards, readers upwards. Who has no reader takes codes from nobody, so one sweep each way is all.
  void demote() {
    for (Node& node : graph_.nodes) {
      if (is_choosing_plugin(node) && node.decision.precision == Precision::int8) choose(node);
      if (!joins(node) || is_asked_for(node)) continue;
      if (std::string missing = missing_codes(node); !missing.empty())
        node.decision = real(ReasonCode::float_input, std::move(missing));
    }
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (!joins(*node)) continue;
      if (is_asked_for(*node)) {
        demote_asked(*node);
        continue;
      }
      if (has_int8_reader(*node)) continue;
      node->decision = real(ReasonCode::no_int8_reader, "no reader of its result is INT8");
    }
  }

  Graph& graph_;
  const Ranges& ranges_;
  const PrecisionOptions& options_;
  const KeptNames kept_;
  Uses uses_;
  const Relevance relevance_;
  const std::vector<bool> scores_;
  std::unordered_set<const Node*> lossy_;
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
  Assigner(graph, ranges, options).run();
}

}  // namespace octet
