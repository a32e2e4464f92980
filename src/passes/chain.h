// SPDX-License-Identifier: Apache-2.0
// Chains of elementwise nodes that end where they began, at one value x: how exporters write functions that are operators.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "passes/match.h"

namespace octet {

class Chain {
 public:
  Chain(Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  // Whether the value is one constant number near `expected`.
  bool is_near(ValueId id, f64 expected) const;
  // The other operand when one of a commutative node's operands is that number; kNoValue.
  ValueId operand_beside(const Node& node, f64 constant) const;
  // The node of this operator that makes the value, or null.
  const Node* produced_by(ValueId id, std::string_view op) const;
  // What `id` is divided from: y when it is y / divisor, or y times its inverse.
  ValueId divided(ValueId id, f64 divisor) const;
  ValueId divided(const Node& node, f64 divisor) const;
  // `last` becomes this operator of x; what served it alone goes with it.
  void fuse(Node& last, ValueId x, Node fused) const;

 private:
  void collect_origins(ValueId stop, const Node& from, std::vector<std::string>& origins) const;

  Graph& graph_;
  const Uses& uses_;
};

}  // namespace octet
