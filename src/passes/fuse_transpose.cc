// SPDX-License-Identifier: Apache-2.0
// A Transpose before or after a product of two activations becomes a permutation that QMatMul reads or writes through
// (ops/shared/matmul_views.h), as long as the rows that its kernels read stay dense.
// This is how attention turns its heads. A Squeeze or a table behind the Transpose changes places
// with it first.
#include <algorithm>
#include <optional>

#include "ops/attributes/moves.h"
#include "ops/attributes/products.h"
#include "ops/shared/axes.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

using Perm = std::vector<s64>;

Perm perm_of(const Graph& graph, const Node& transpose) {
  Perm perm;
  for (int i = graph.value(transpose.inputs[0]).type.shape.rank() - 1; i >= 0; --i)
    perm.push_back(i);
  return attribute_of<&TransposeAttributes::perm>(transpose).value_or(perm);
}

class Fuser : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    for (Node& node : graph_.nodes) {
      if (is_table(node)) table_first(node);
      if (is_op(node, "Squeeze")) squeeze_first(node);
    }
    for (Node& node : graph_.nodes) {
      if (!is_op(node, "QMatMul") || !two_activations(node)) continue;
      read_through<&MatMulAttributes::perm_a>(node, 0);
      read_through<&MatMulAttributes::perm_b>(node, 1);
    }
    for (Node& node : graph_.nodes) {
      if (is_op(node, "Transpose")) write_through(node);
    }
  }

 private:
  // Squeeze(Transpose(x)) becomes Transpose(Squeeze(x)), each in the place of the other.
  void squeeze_first(Node& squeeze) {
    Node* transpose = producer_of(graph_, uses_, squeeze.inputs[0]);
    const Tensor* given = graph_.constant_input(squeeze, 1);
    if (transpose == nullptr || !is_op(*transpose, "Transpose")) return;
    if (given == nullptr || given->dtype() != Dtype::s64) return;
    if (only_reader(graph_, uses_, squeeze.inputs[0]) == nullptr || !feeds_product(squeeze)) return;
    const Perm perm = perm_of(graph_, *transpose);
    const Shape source = graph_.value(transpose->inputs[0]).type.shape;
    if (perm.size() != static_cast<size_t>(source.rank())) return;
    const std::vector<int> axes = normalize_axes(given->as<s64>(), source.rank());
    if (!rewrites_.allow()) return;
    Swap swap;
    std::vector<s64> place(perm.size(), -1);  // of each axis of x after the Squeeze
    for (int axis : axes) swap.axes.push_back(perm[static_cast<size_t>(axis)]);
    for (int i = 0; i < source.rank(); ++i) {
      if (std::ranges::find(swap.axes, i) != swap.axes.end()) continue;
      place[static_cast<size_t>(i)] = swap.shape.rank();
      swap.shape.push_back(source[i]);
    }
    for (s64 axis : perm) {
      const s64 at = place[static_cast<size_t>(axis)];
      if (at >= 0) swap.perm.push_back(at);
    }
    change_places(*transpose, squeeze, swap);
  }

  // QTable(Transpose(x)) becomes Transpose(QTable(x)), each in the place of the other.
  void table_first(Node& table) {
    Node* transpose = producer_of(graph_, uses_, table.inputs[0]);
    if (transpose == nullptr || !is_op(*transpose, "Transpose")) return;
    if (only_reader(graph_, uses_, table.inputs[0]) == nullptr || !feeds_product(table)) return;
    if (!rewrites_.allow()) return;
    const Value& result = graph_.value(table.outputs[0]);
    Value& between = graph_.value(transpose->outputs[0]);
    between.type = {result.type.dtype, graph_.value(transpose->inputs[0]).type.shape};
    between.quant = result.quant;
    swap_meaning(*transpose, table);
    transpose->inputs.push_back(table.inputs[1]);
    table.inputs.resize(1);
  }

  static void swap_meaning(Node& a, Node& b) {
    std::swap(a.op, b.op);
    std::swap(a.name, b.name);
    std::swap(a.origins, b.origins);
    std::swap(a.attrs, b.attrs);
    std::swap(a.decision, b.decision);
  }

  struct Swap {
    std::vector<s64> axes;  // that the Squeeze drops from x
    Shape shape;            // that it leaves
    Perm perm;              // of the Transpose after it
  };

  void change_places(Node& transpose, Node& squeeze, const Swap& swap) {
    swap_meaning(transpose, squeeze);
    const auto count = static_cast<s64>(swap.axes.size());
    const Tensor axes = Tensor::of<s64>(Shape{count}, swap.axes);
    transpose.inputs.push_back(graph_.add_constant(transpose.name + ".axes", axes));
    squeeze.inputs.resize(1);
    set_attribute<&TransposeAttributes::perm>(squeeze.attrs, swap.perm);
    graph_.value(transpose.outputs[0]).type.shape = swap.shape;
  }

  bool feeds_product(const Node& squeeze) const {
    const s32 reader = uses_.only_consumer(squeeze.outputs[0]);
    return reader >= 0 && is_op(graph_.nodes[static_cast<size_t>(reader)], "QMatMul");
  }

  bool two_activations(const Node& node) const {
    if (node.inputs.size() > 4 &&
        std::ranges::any_of(node.inputs.begin() + 4, node.inputs.end(),
                            [&](ValueId id) { return is_activation(id); }))
      return false;  // a residual has the result's shape
    return is_activation(node.inputs[0]) && is_activation(node.inputs[1]);
  }

  bool is_activation(ValueId id) const { return id != kNoValue && !graph_.is_constant(id); }

  // The kernels read rows of a as they lie; of b rows or columns.
  static bool readable(const Perm& perm, size_t input) {
    const s64 last = static_cast<s64>(perm.size()) - 1;
    if (perm.size() < 2) return false;
    return perm.back() == last || (input == 1 && perm[perm.size() - 2] == last);
  }

  template <auto kPerm>
  void read_through(Node& product, size_t input) {
    const Node* transpose = producer_of(graph_, uses_, product.inputs[input]);
    if (transpose == nullptr || !is_op(*transpose, "Transpose") || has_attribute<kPerm>(product))
      return;
    const Perm perm = perm_of(graph_, *transpose);
    if (!readable(perm, input) || !rewrites_.allow()) return;
    set_attribute<kPerm>(product.attrs, perm);
    product.inputs[input] = transpose->inputs[0];
    if (uses_.only_consumer(transpose->outputs[0]) >= 0) prepend_origins(product, *transpose);
  }

  void write_through(Node& transpose) {
    Node* product = producer_of(graph_, uses_, transpose.inputs[0]);
    if (product == nullptr || !is_op(*product, "QMatMul") || !two_activations(*product)) return;
    if (only_reader(graph_, uses_, transpose.inputs[0]) == nullptr) return;
    const Perm perm = perm_of(graph_, transpose);
    if (has_attribute<&MatMulAttributes::perm_y>(*product) || !readable(perm, 0) ||
        !rewrites_.allow())
      return;
    Node fused = *product;
    set_attribute<&MatMulAttributes::perm_y>(fused.attrs, perm);
    replace_fused(transpose, std::move(fused), *product);
  }
};

}  // namespace

void fuse_transpose(Graph& graph, Rewrites& rewrites) { Fuser(graph, rewrites).run(); }

}  // namespace octet
