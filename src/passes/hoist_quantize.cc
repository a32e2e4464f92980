// SPDX-License-Identifier: Apache-2.0
// A QuantizeLinear after operators that only move elements (Slice, Concat, Transpose of an image that enters as f32) is
// written before them as well: moving codes costs a quarter, and move_dequantize and cancel_qdq remove what is then double.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

class Hoister {
 public:
  Hoister(Graph& graph, Rewrites& rewrites)
      : graph_(graph), rewrites_(rewrites), uses_(graph), before_(graph.nodes.size() + 1) {}

  void run() {
    for (u32 n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const std::optional<CodeType> type =
          is_quantize(node) ? code_type(graph_, node) : std::nullopt;
      leaves_.clear();
      moves_.clear();
      if (!type || !moves(node.inputs[0], *type)) continue;
      if (!rewrites_.allow()) break;
      lift(node.inputs[0], *type);
    }
    splice();
  }

 private:
  // Positions of the inputs whose elements the node moves.
  static std::vector<size_t> moved_inputs(const Node& node) {
    if (node.op->quant.moved_input >= 0) return {static_cast<size_t>(node.op->quant.moved_input)};
    std::vector<size_t> all(node.inputs.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  // `id` is moved f32 data, and whoever reads it quantizes it alike in the end.
  bool moves(ValueId id, const CodeType& type) {
    if (const auto known = moves_.find(id); known != moves_.end()) return known->second;
    const bool result = is_moved(id) && std::ranges::all_of(uses_.consumers(id), [&](u32 reader) {
                          const Node& next = graph_.nodes[reader];
                          if (is_quantize(next)) return code_type(graph_, next) == type;
                          return next.outputs.size() == 1 && moves(next.outputs[0], type);
                        });
    return moves_[id] = result;
  }

  bool is_moved(ValueId id) const {
    if (graph_.is_output(id) || uses_.producer(id) < 0) return false;
    const Node& node = graph_.nodes[static_cast<size_t>(uses_.producer(id))];
    const QuantRule& rule = node.op->quant;
    if (rule.kind != QuantKind::move_codes || rule.quantize != nullptr || is_op(node, "Pad"))
      return false;
    if (node.outputs.size() != 1 || node.decision.precision == "f32") return false;
    // What comes from codes already moves as codes.
    const auto from_codes = [&](size_t i) {
      if (real_of_.contains(node.inputs[i])) return true;
      const s32 producer = node.inputs[i] == kNoValue ? -1 : uses_.producer(node.inputs[i]);
      return producer >= 0 && is_dequantize(graph_.nodes[static_cast<size_t>(producer)]);
    };
    return graph_.value(id).type.dtype == Dtype::f32 &&
           std::ranges::none_of(moved_inputs(node), from_codes);
  }

  void lift(ValueId id, const CodeType& type) {
    const auto producer = static_cast<u32>(uses_.producer(id));
    for (size_t i : moved_inputs(graph_.nodes[producer])) {
      const ValueId from = graph_.nodes[producer].inputs[i];
      if (from == kNoValue || graph_.is_constant(from)) continue;
      if (real_of_.contains(from)) continue;  // done on another way
      if (moves(from, type)) {
        lift(from, type);
      } else {
        graph_.nodes[producer].inputs[i] = rounded(from, type);
      }
    }
  }

  // DequantizeLinear(QuantizeLinear(from)), made once for each value and placed where that is made.
  ValueId rounded(ValueId from, const CodeType& type) {
    if (const auto known = leaves_.find(from); known != leaves_.end()) return known->second;
    const std::string name = graph_.value(from).name;
    Node quantize = make_quantize(graph_, from, type, name + ".codes");
    Node dequantize = make_dequantize(graph_, quantize.outputs[0], type, name + ".rounded");
    const ValueId result = dequantize.outputs[0];
    for (Node* node : {&quantize, &dequantize}) {
      node->decision = {"int8", "moved up to where the data enters"};
    }
    std::vector<Node>& place = before_[static_cast<size_t>(uses_.producer(from) + 1)];
    place.push_back(std::move(quantize));
    place.push_back(std::move(dequantize));
    leaves_[from] = result;
    real_of_[result] = from;
    return result;
  }

  void splice() {
    std::vector<Node> nodes;
    for (u32 n = 0; n < graph_.nodes.size(); ++n) {
      for (Node& added : before_[n]) nodes.push_back(std::move(added));
      nodes.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = std::move(nodes);
  }

  Graph& graph_;
  Rewrites& rewrites_;
  Uses uses_;
  std::vector<std::vector<Node>> before_;        // what to insert before each node
  std::unordered_map<ValueId, ValueId> leaves_;  // of the QuantizeLinear at hand
  std::unordered_map<ValueId, ValueId> real_of_;
  std::unordered_map<ValueId, bool> moves_;  // likewise
};

}  // namespace

void hoist_quantize(Graph& graph, Rewrites& rewrites) { Hoister(graph, rewrites).run(); }

}  // namespace octet
