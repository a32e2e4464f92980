// SPDX-License-Identifier: Apache-2.0
// Identity (also what Dropout becomes) disappears, and so does Cast to the type that its input has; a graph output keeps its
// name.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// The node that produces the identity's input produces the graph output directly. Only where nothing but nodes stand
// before it: an input or constant that is an output as well keeps its Identity.
bool hand_over_output(Graph& graph, const Uses& uses, Node& identity) {
  Node* before = producer_of(graph, uses, identity.inputs[0]);
  if (before == nullptr || graph.is_output(identity.inputs[0])) return false;
  const ValueId from = identity.inputs[0];
  const ValueId output = identity.outputs[0];
  std::ranges::replace(before->outputs, from, output);
  for (Node& node : graph.nodes) {
    if (&node != &identity) std::ranges::replace(node.inputs, from, output);
  }
  return true;
}

// Dropout that kept its second output, the mask, although nobody reads it.
bool drops_nothing(const Graph& graph, const Uses& uses, const Node& node) {
  if (!is_op(node, "Dropout") || node.inputs.size() != 1) return false;
  return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId id) {
    return id == kNoValue || (uses.consumers(id).empty() && !graph.is_output(id));
  });
}

template <class F>
void remove_copies(Graph& graph, Rewrites& rewrites, const F& is_copy) {
  std::vector<u32> gone;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (!is_copy(node) || !rewrites.allow()) continue;
    if (!graph.is_output(node.outputs[0])) {
      graph.replace_uses(node.outputs[0], node.inputs[0]);
      gone.push_back(n);
    } else if (hand_over_output(graph, Uses(graph), node)) {
      gone.push_back(n);
    }
  }
  erase_nodes(graph, gone);
}

}  // namespace

void remove_identity(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  remove_copies(graph, rewrites, [&](const Node& node) {
    return is_op(node, "Identity") || drops_nothing(graph, uses, node);
  });
}

// Types are known from fold_constants on.
void remove_cast(Graph& graph, Rewrites& rewrites) {
  remove_copies(graph, rewrites, [&](const Node& node) {
    return is_op(node, "Cast") &&
           node.attrs.s("to", "") == dtype_name(graph.value(node.inputs[0]).type.dtype);
  });
}

}  // namespace octet
