// SPDX-License-Identifier: Apache-2.0
#include "passes/elementwise.h"

#include <algorithm>

#include "graph/op_traits.h"
#include "passes/match.h"

namespace octet {

bool is_elementwise(const Node& node) {
  if (node.outputs.size() != 1) return false;
  if (node.op->traits->elementwise || node.op->quant.kind == QuantKind::table) return true;
  // What masks are made with; their traits say nothing, since no codes pass through them.
  if (is_op(node, "Where")) return true;
  if (is_op(node, "Cast")) return true;
  if (is_op(node, "Equal")) return true;
  if (is_op(node, "Not")) return true;
  return is_op(node, "And");
}

bool are_equal_sizes(const Shape& a, const Shape& b) {
  if (a.is_unknown() || b.is_unknown() || a != b) return false;
  return std::ranges::none_of(a.dims(), [](s64 dim) { return dim == Shape::kDynamic; });
}

}  // namespace octet
