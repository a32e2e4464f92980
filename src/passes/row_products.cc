// SPDX-License-Identifier: Apache-2.0
#include "passes/row_products.h"

#include <algorithm>
#include <string>
#include <utility>

#include "graph/graph_edit.h"
#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "passes/match.h"

namespace octet {

const Node* RowProducts::reader_of(ValueId id) {
  const auto [at, fresh] = readers_.try_emplace(id, nullptr);
  if (fresh && !uses_.is_output(id)) at->second = only_reader(id);
  return at->second;
}

const Node* RowProducts::only_reader(ValueId id) const {
  const Node* reader = nullptr;
  for (const u32 n : uses_.consumers(id)) {
    const Node& node = graph_.nodes[n];
    if (node.op->traits->reads_types_only) continue;
    if (reader != nullptr) return nullptr;
    reader = &node;
  }
  return reader;
}

bool RowProducts::is_product(const Node& node) const {
  return is_op(node, "MatMul") && graph_.is_constant(node.inputs[1]) &&
         graph_.value(node.inputs[1]).type.shape.rank() == 2 && node.input(3) == kNoValue &&
         (node.input(2) == kNoValue || graph_.is_constant(node.input(2)));
}

bool RowProducts::is_bias(const Node& node) const {
  if (!is_op(node, "Add") || node.inputs.size() != 2) return false;
  const size_t constant = graph_.is_constant(node.inputs[0]) ? 0 : 1;
  return graph_.is_constant(node.inputs[constant]) &&
         !graph_.is_constant(node.inputs[1 - constant]) &&
         graph_.value(node.inputs[constant]).type.shape.rank() == 1;
}

std::optional<std::vector<s64>> row_permutation(const Node& node) {
  auto perm = attribute_of<&TransposeAttributes::perm>(node);
  if (!perm || perm->size() < 3 || perm->back() != std::ssize(*perm) - 1) return {};
  return perm;
}

bool same_first_axes(const Shape& a, const Shape& b, int axes) {
  if (a.is_unknown() || b.is_unknown() || a.rank() < axes || b.rank() < axes) return false;
  int unknown = 0;
  for (int d = 0; d < axes; ++d) {
    if (a[d] != b[d] || a[d] == 0) return false;
    if (a[d] == Shape::kDynamic) ++unknown;
  }
  return unknown <= 1;
}

s64 product_from(const Shape& shape, int first) {
  s64 product = 1;
  for (int d = first; d < shape.rank(); ++d) product *= std::max<s64>(shape[d], 0);
  return product;
}

ValueId add_sizes(Graph& graph, const Node& node, int kept, const Shape& shape) {
  std::vector<s64> sizes(static_cast<size_t>(kept), 0);  // zeros keep what is there
  for (int d = kept; d < shape.rank(); ++d) sizes.push_back(shape[d]);
  return graph.add_constant(node.name + ".sizes", Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes));
}

Node node_named_after(const Node& node, std::string_view op, std::string_view what,
                      std::vector<ValueId> inputs) {
  return node_beside(node, find_op(op), node.name + "." + std::string(what), std::move(inputs));
}

}  // namespace octet
