// SPDX-License-Identifier: Apache-2.0
#include "passes/chain.h"

#include <algorithm>
#include <cmath>

namespace octet {

bool Chain::is_near(ValueId id, f64 expected) const {
  const std::optional<f32> value = scalar_constant(graph_, id);
  return value && std::fabs(static_cast<f64>(*value) - expected) < 1e-4 * expected;
}

ValueId Chain::operand_beside(const Node& node, f64 constant) const {
  for (size_t side = 0; side < 2; ++side) {
    if (is_near(node.inputs[side], constant)) return node.inputs[1 - side];
  }
  return kNoValue;
}

const Node* Chain::produced_by(ValueId id, std::string_view op) const {
  if (id == kNoValue) return nullptr;
  const Node* node = producer_of(graph_, uses_, id);
  return node != nullptr && is_op(*node, op) ? node : nullptr;
}

ValueId Chain::divided(ValueId id, f64 divisor) const {
  const Node* node = id == kNoValue ? nullptr : producer_of(graph_, uses_, id);
  return node == nullptr ? kNoValue : divided(*node, divisor);
}

ValueId Chain::divided(const Node& node, f64 divisor) const {
  if (is_op(node, "Div") && is_near(node.inputs[1], divisor)) return node.inputs[0];
  return is_op(node, "Mul") ? operand_beside(node, 1 / divisor) : kNoValue;
}

void Chain::fuse(Node& last, ValueId x, Node fused) const {
  fused.name = last.name;
  fused.inputs = {x};
  fused.outputs = last.outputs;
  fused.decision = last.decision;
  collect_origins(x, last, fused.origins);
  append_origins(fused, last);
  last = std::move(fused);
}

// The nodes between x and the last one, in graph order.
void Chain::collect_origins(ValueId stop, const Node& from,
                            std::vector<std::string>& origins) const {
  for (ValueId id : from.inputs) {
    if (id == stop || id == kNoValue) continue;
    const Node* node = producer_of(graph_, uses_, id);
    if (node == nullptr) continue;
    collect_origins(stop, *node, origins);
    for (const std::string& origin : node->origins) {
      if (std::ranges::find(origins, origin) == origins.end()) origins.push_back(origin);
    }
  }
}

}  // namespace octet
