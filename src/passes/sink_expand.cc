// SPDX-License-Identifier: Apache-2.0
// Masks are expanded to all heads and queries before they are inverted, filled and added, which broadcasts anyway. Expand goes behind what
// computes element for element, so that this has a row of the mask to do, and vanishes before a node whose other operand has the whole shape.
// Runs when types are known.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "passes/elementwise.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

class ExpandSinker : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      Node& node = graph_.nodes[at_];
      if (is_op(node, "Expand") && !graph_.is_constant(node.inputs[0])) {
        expanded_[node.outputs[0]] = {node.inputs[0], node};
      } else if (is_elementwise(node)) {
        drop(node);
        sink(node);
      }
    }
    edit_.apply();
  }

 private:
  struct Expanded {
    ValueId source = kNoValue;
    Node expand;
  };

  const Expanded* expanded(ValueId id) const {
    const auto at = expanded_.find(id);
    return at == expanded_.end() ? nullptr : &at->second;
  }
  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }

  // Another operand makes the result as large as it is. What a function of one value takes beside it spreads over nothing.
  void drop(Node& node) {
    if (node.op->quant.kind == QuantKind::table) return;
    const Shape& whole = shape_of(node.outputs[0]);
    const bool is_given = std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNoValue && expanded(id) == nullptr && are_equal_sizes(shape_of(id), whole);
    });
    if (!is_given) return;
    for (ValueId& id : node.inputs) {
      const Expanded* from = id == kNoValue ? nullptr : expanded(id);
      if (from != nullptr && rewrites_.allow()) id = from->source;
    }
  }

  // The operands that are expanded, all of them to one shape from one, where the others are single numbers.
  const Expanded* common(const Node& node) const {
    const Expanded* found = nullptr;
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      const Expanded* own = expanded(id);
      if (own == nullptr) {
        if (!graph_.is_constant(id) || graph_.value(id).constant.elements() != 1) return nullptr;
        continue;
      }
      if (!are_equal_sizes(shape_of(id), shape_of(node.outputs[0]))) return nullptr;
      if (found == nullptr) found = own;
      if (!are_equal_sizes(shape_of(own->source), shape_of(found->source))) return nullptr;
    }
    return found;
  }

  void sink(Node& node) {
    const Expanded* from = common(node);
    if (from == nullptr) return;
    for (const ValueId id : node.inputs) {
      const bool is_wider =
          graph_.is_constant(id) && shape_of(id).rank() > shape_of(from->source).rank();
      if (is_wider) return;
    }
    if (!rewrites_.allow()) return;
    const ValueId whole = node.outputs[0];
    const ValueId own =
        graph_.add_value(graph_.value(whole).name + ".row",
                         TensorType{graph_.value(whole).type.dtype, shape_of(from->source)});
    Node expand =
        node_beside(node, from->expand.op, node.name + ".expanded", {own, from->expand.inputs[1]});
    expand.origins = {};
    expand.outputs = {whole};
    for (ValueId& id : node.inputs) {
      if (const Expanded* each = id == kNoValue ? nullptr : expanded(id)) id = each->source;
    }
    node.outputs = {own};
    expanded_[whole] = {own, expand};
    edit_.insert_after(at_, std::move(expand));
  }

  std::unordered_map<ValueId, Expanded> expanded_;
};

}  // namespace

void sink_expand(Graph& graph, Rewrites& rewrites) { ExpandSinker(graph, rewrites).run(); }

}  // namespace octet
