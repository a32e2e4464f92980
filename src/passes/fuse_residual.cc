// SPDX-License-Identifier: Apache-2.0
// Conv followed by Add of a tensor of the same shape takes it as its residual input: one rounding instead of two
// (docs/numerics.md section 4). MatMul is left alone: a transformer's residual stream feeds normalizations in f32.
#include "ops/attributes/activation.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/sides.h"

namespace octet {
namespace {

bool takes_residual(Graph& graph, const Uses& uses, const Node& add, size_t side) {
  const Node* conv = producer_of(graph, uses, add.inputs[side]);
  if (conv == nullptr || !is_op(*conv, "Conv") || conv->input(3) != kNoValue) return false;
  if (only_reader(graph, uses, add.inputs[side]) == nullptr) return false;
  const ValueId residual = add.inputs[1 - side];
  if (graph.is_constant(residual) || residual == add.inputs[side]) return false;
  return !has_activation(*conv) && graph.value(residual).type == graph.value(add.inputs[side]).type;
}

}  // namespace

void fuse_residual(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& add : graph.nodes) {
    if (!is_op(add, "Add") || has_activation(add)) continue;
    for (const size_t side : later_side_first(uses, add)) {
      if (!takes_residual(graph, uses, add, side)) continue;
      if (!rewrites.allow()) return;
      const Node* conv = producer_of(graph, uses, add.inputs[side]);
      Node fused = *conv;
      fused.inputs.resize(4, kNoValue);
      fused.inputs[3] = add.inputs[1 - side];
      replace_fused(add, std::move(fused), *conv);
      break;
    }
  }
}

}  // namespace octet
