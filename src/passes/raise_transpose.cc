// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_transpose.h"

#include <array>
#include <utility>

#include "ops/attributes/moves.h"
#include "passes/match.h"

namespace octet {

bool TransposeRaiser::raise(size_t at, Rewrites& rewrites) {
  const Node& transpose = graph_.nodes[at];
  Found found;
  if (!find(transpose, found) || !fits(found) || !rewrites.allow()) return false;
  move(transpose, found);
  edit_.erase(at);
  return true;
}

bool TransposeRaiser::find(const Node& transpose, Found& found) {
  const auto perm = row_permutation(transpose);
  if (!perm || uses_.is_output(transpose.inputs[0])) return false;
  found.perm = *perm;
  found.parts = own_producer(transpose.inputs[0]);
  if (found.parts == nullptr || !is_op(*found.parts, "Reshape")) return false;
  Node* product = own_producer(found.parts->inputs[0]);
  if (product != nullptr && rows_.is_bias(*product)) {
    found.products.push_back(product);
    product = own_producer(product->inputs[rows_.data_input(*product)]);
  }
  if (product == nullptr || !rows_.is_product(*product)) return false;
  found.products.push_back(product);
  found.joins = own_producer(product->inputs[0]);
  if (found.joins == nullptr || !is_op(*found.joins, "Reshape")) return false;
  const Node* before = producer_of(graph_, uses_, found.joins->inputs[0]);
  return before != nullptr && is_op(*before, "Transpose");
}

// The Reshapes join and part the same rows, and the product reads and gives whole ones.
bool TransposeRaiser::fits(const Found& found) const {
  const Shape &z = shape_of(found.joins->inputs[0]), &to = shape_of(found.parts->outputs[0]);
  const Shape& weights = shape_of(found.products.back()->inputs[1]);
  const int axes = to.rank() - 1;
  if (!same_first_axes(z, to, axes) || z.rank() <= axes || to[axes] != weights[1]) return false;
  if (weights[0] <= 0 || product_from(z, axes) != weights[0]) return false;
  return shape_of(found.joins->outputs[0]).rank() == 2;
}

void TransposeRaiser::move(const Node& transpose, const Found& found) {
  const Shape& z = shape_of(found.joins->inputs[0]);
  const Dtype dtype = graph_.value(transpose.outputs[0]).type.dtype;
  const auto first = static_cast<size_t>(found.joins - graph_.nodes.data());
  const int axes = static_cast<int>(found.perm.size()) - 1;
  std::vector<s64> perm(found.perm.begin(), found.perm.end() - 1);
  for (s64 d = axes; d < z.rank(); ++d) perm.push_back(d);
  Shape transposed, rows;
  for (const s64 d : perm) transposed.push_back(z[static_cast<int>(d)]);
  for (int d = 0; d < axes; ++d) rows.push_back(transposed[d]);
  rows.push_back(product_from(z, axes));
  Node before = node_named_after(*found.joins, "Transpose", "turn", {found.joins->inputs[0]});
  set_attribute<&TransposeAttributes::perm>(before.attrs, perm);
  before.outputs = {graph_.add_value(before.name, TensorType{dtype, transposed})};
  Node join = node_named_after(*found.joins, "Reshape", "rows", {before.outputs[0]});
  join.inputs.push_back(add_sizes(graph_, join, axes, rows));
  join.outputs = {graph_.add_value(join.name, TensorType{dtype, rows})};
  ValueId x = join.outputs[0];
  edit_.insert_before(first, std::move(before));
  edit_.insert_before(first, std::move(join));
  for (size_t i = found.products.size(); i-- > 0;) {
    Node& product = *found.products[i];
    product.inputs[rows_.data_input(product)] = x;
    const Shape& own = shape_of(product.outputs[0]);
    rows[axes] = own[own.rank() - 1];
    x = i == 0 ? transpose.outputs[0]
               : graph_.add_value(product.name + ".rows", TensorType{dtype, rows});
    join_behind(product, x);
  }
  append_origins(*found.products[0], *found.parts);
  append_origins(*found.products[0], transpose);
}

// The node computes `own`; who asks for the sizes of what it gave finds its rows joined behind it.
void TransposeRaiser::join_behind(Node& node, ValueId own) {
  const ValueId joined = node.outputs[0];
  const Shape& shape = shape_of(joined);
  node.outputs = {own};
  const ValueId sizes = graph_.add_constant(
      node.name + ".joined", Tensor::of<s64>(Shape{2}, std::array{s64{-1}, shape[1]}));
  Node join = node_named_after(node, "Reshape", "join", {own, sizes});
  join.origins = {};
  join.outputs = {joined};
  edit_.insert_after(static_cast<size_t>(&node - graph_.nodes.data()), std::move(join));
}

// What gives a value that one node reads; null where an earlier rewrite made it give another.
Node* TransposeRaiser::own_producer(ValueId id) {
  Node* node = rows_.reader_of(id) == nullptr ? nullptr : producer_of(graph_, uses_, id);
  return node == nullptr || node->outputs[0] != id ? nullptr : node;
}

}  // namespace octet
