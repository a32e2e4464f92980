// SPDX-License-Identifier: Apache-2.0
#include "precision/scores.h"

#include <algorithm>

#include "graph/op_traits.h"
#include "passes/axis_parts.h"
#include "passes/match.h"
#include "precision/roles.h"

namespace octet {
namespace {

class ScoreFinder {
 public:
  ScoreFinder(const Graph& graph, const Uses& uses)
      : graph_(graph), uses_(uses), found_(graph.nodes.size(), false) {}

  std::vector<bool> run() {
    for (const Node& node : graph_.nodes) {
      if (is_op(node, "Softmax")) walk_scores(node.inputs[0]);
    }
    add_masks();
    return std::move(found_);
  }

 private:
  // What makes a value that nobody else reads; -1: nothing, or others do.
  s32 own_producer(ValueId id) const {
    return uses_.only_consumer(id) < 0 ? -1 : uses_.producer(id);
  }

  static bool is_elementwise(const Node& node) {
    return node.outputs.size() == 1 && (node.op->traits->elementwise || is_op(node, "Where") ||
                                        node.op->quant.kind == QuantKind::table);
  }

  bool is_product(const Node& node) const {
    return node.op->quant.kind == QuantKind::compute && node.inputs.size() > 1 &&
           is_real_activation(graph_, node.inputs[0]) && is_real_activation(graph_, node.inputs[1]);
  }

  // From what Softmax reads back to the product: the nodes between, if it comes to one.
  void walk_scores(ValueId id) {
    std::vector<u32> between;
    for (s32 n; (n = own_producer(id)) >= 0;) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      if (is_product(node)) {
        for (const u32 each : between) found_[each] = true;
        return;
      }
      if (!is_elementwise(node) && !moves_axes(node)) return;
      between.push_back(static_cast<u32>(n));
      id = moves_axes(node) ? node.inputs[0] : scores_of(node);
      if (id == kNoValue) return;
    }
  }

  // The operand that has the shape of the result, and is made of a product where two have.
  ValueId scores_of(const Node& node) const {
    const Shape& shape = graph_.value(node.outputs[0]).type.shape;
    ValueId found = kNoValue;
    for (const ValueId id : node.inputs) {
      if (id == kNoValue || !is_real_activation(graph_, id)) continue;
      if (graph_.value(id).type.shape != shape) continue;
      if (found == kNoValue || leads_to_product(id)) found = id;
    }
    return found;
  }

  bool leads_to_product(ValueId id) const {
    constexpr int kMostNodes = 16;  // between a product and where scores meet what is added to them
    s32 n = -1;
    for (int i = 0; i < kMostNodes && (n = own_producer(id)) >= 0; ++i) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      if (is_product(node)) return true;
      if ((!is_elementwise(node) && !moves_axes(node)) || node.inputs.empty()) return false;
      const auto whole = std::ranges::find_if(node.inputs, [&](ValueId input) {
        return input != kNoValue && is_real_activation(graph_, input);
      });
      if (whole == node.inputs.end()) return false;
      id = *whole;
    }
    return false;
  }

  // Readers before what they read: who makes masks alone multiplies nothing.
  void add_masks() {
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (found_[n] || node.op->quant.kind == QuantKind::compute) continue;
      found_[n] = std::ranges::all_of(node.outputs, [&](ValueId id) { return is_mask(id); });
    }
  }

  bool is_mask(ValueId id) const {
    if (id == kNoValue || uses_.is_output(id)) return false;
    const std::span<const u32> readers = uses_.consumers(id);
    return !readers.empty() && std::ranges::all_of(readers, [&](u32 n) { return found_[n]; });
  }

  const Graph& graph_;
  const Uses& uses_;
  std::vector<bool> found_;
};

}  // namespace

std::vector<bool> nodes_of_scores(const Graph& graph, const Uses& uses) {
  return ScoreFinder(graph, uses).run();
}

}  // namespace octet
