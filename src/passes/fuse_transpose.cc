// SPDX-License-Identifier: Apache-2.0
// A Transpose before or after a product of two activations becomes a permutation that QMatMul reads or writes through
// (ops/matmul_views.h), as long as the rows that its kernels read stay dense.
// This is how attention turns its heads.
#include <algorithm>
#include <optional>

#include "ops/axes.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

using Perm = std::vector<s64>;

Perm perm_of(const Graph& graph, const Node& transpose) {
  Perm perm;
  for (int i = graph.value(transpose.inputs[0]).type.shape.rank() - 1; i >= 0; --i)
    perm.push_back(i);
  return transpose.attrs.ints("perm", perm);
}

class Fuser {
 public:
  Fuser(Graph& graph, Rewrites& rewrites) : graph_(graph), rewrites_(rewrites), uses_(graph) {}

  void run() {
    for (Node& node : graph_.nodes) {
      if (!is_op(node, "QMatMul") || !two_activations(node)) continue;
      read_through(node, 0, "perm_a");
      read_through(node, 1, "perm_b");
    }
    for (Node& node : graph_.nodes) {
      if (is_op(node, "Transpose")) write_through(node);
    }
  }

 private:
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

  void read_through(Node& product, size_t input, const char* name) {
    const Node* transpose = producer_of(graph_, uses_, product.inputs[input]);
    if (transpose == nullptr || !is_op(*transpose, "Transpose") || product.attrs.has(name)) return;
    const Perm perm = perm_of(graph_, *transpose);
    if (!readable(perm, input) || !rewrites_.allow()) return;
    product.attrs.set(name, perm);
    product.inputs[input] = transpose->inputs[0];
    if (uses_.only_consumer(transpose->outputs[0]) >= 0) take_origins(product, *transpose);
  }

  static void take_origins(Node& product, const Node& transpose) {
    product.origins.insert(product.origins.begin(), transpose.origins.begin(),
                           transpose.origins.end());
  }

  void write_through(Node& transpose) {
    Node* product = producer_of(graph_, uses_, transpose.inputs[0]);
    if (product == nullptr || !is_op(*product, "QMatMul") || !two_activations(*product)) return;
    if (only_reader(graph_, uses_, transpose.inputs[0]) == nullptr) return;
    const Perm perm = perm_of(graph_, transpose);
    if (product->attrs.has("perm_y") || !readable(perm, 0) || !rewrites_.allow()) return;
    Node fused = *product;
    fused.attrs.set("perm_y", perm);
    replace_fused(transpose, std::move(fused), *product);
  }

  Graph& graph_;
  Rewrites& rewrites_;
  Uses uses_;
};

}  // namespace

void fuse_transpose(Graph& graph, Rewrites& rewrites) { Fuser(graph, rewrites).run(); }

}  // namespace octet
