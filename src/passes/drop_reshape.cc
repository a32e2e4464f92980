// SPDX-License-Identifier: Apache-2.0
// Reshape -> QMatMul by constant weights -> Reshape, which only lays the rows of a batch in one matrix and back (what a Gemm
// made of a MatMul looks like), becomes the product of the batch: what stands around it then meets it directly.
#include <algorithm>

#include "ops/quantized/epilogue.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// The same rows in the same order: all leading dimensions but at most one are known and equal, so that one is too.
bool same_rows(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank() || a.rank() < 2) return false;
  int unknown = 0;
  for (int i = 0; i + 1 < a.rank(); ++i) {
    if (a[i] != b[i] || a[i] == 0) return false;
    if (a[i] < 0) ++unknown;
  }
  return unknown <= 1;
}

bool by_constant_weights(const Graph& graph, const Node& node) {
  if (!is_op(node, "QMatMul") || !graph.is_constant(node.input(kProductWeights))) return false;
  if (graph.value(node.inputs[kProductWeights]).type.shape.rank() != 2) return false;
  return node.input(kProductResidual) == kNoValue && node.input(kProductAddend) == kNoValue;
}

}  // namespace

void drop_reshape(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& last : graph.nodes) {
    if (!is_op(last, "Reshape")) continue;
    const Node* product = producer_of(graph, uses, last.inputs[0]);
    if (product == nullptr || !by_constant_weights(graph, *product)) continue;
    if (only_reader(graph, uses, last.inputs[0]) == nullptr) continue;
    const Node* first = producer_of(graph, uses, product->inputs[kProductX]);
    if (first == nullptr || !is_op(*first, "Reshape")) continue;
    const Shape& weights = graph.value(product->inputs[kProductWeights]).type.shape;
    const Shape& source = graph.value(first->inputs[0]).type.shape;
    const Shape& result = graph.value(last.outputs[0]).type.shape;
    if (!same_rows(source, result)) continue;
    if (source[source.rank() - 1] != weights[0] || result[result.rank() - 1] != weights[1])
      continue;
    if (!rewrites.allow()) return;
    Node batch = *product;
    batch.inputs[kProductX] = first->inputs[0];
    if (uses.only_consumer(first->outputs[0]) >= 0) prepend_origins(batch, *first);
    replace_fused(last, batch, batch);
  }
}

}  // namespace octet
