// SPDX-License-Identifier: Apache-2.0
// Where sums are scores of attention.
#pragma once

#include "passes/axis_parts.h"
#include "passes/match.h"

namespace octet {

// Whether a Softmax reads what the node gives, behind nothing but moves and nodes for which `passes` holds, each the only reader of the one before.
// Of a few nodes: each sum of a long chain asks.
template <class Passes>
bool comes_to_softmax(const Graph& graph, const Uses& uses, const Node& sum, const Passes& passes) {
  constexpr int kMostNodes = 8;
  const Node* node = &sum;
  for (int i = 0; i < kMostNodes; ++i) {
    const s32 next = uses.only_consumer(node->outputs[0]);
    if (next < 0) return false;
    node = &graph.nodes[static_cast<size_t>(next)];
    if (is_op(*node, "Softmax")) return true;
    if (!moves_axes(*node) && !passes(*node)) return false;
  }
  return false;
}

}  // namespace octet
