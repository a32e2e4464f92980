// SPDX-License-Identifier: Apache-2.0
// Add of a constant per output channel after a bias-less Conv or MatMul becomes its bias.
#include <optional>

#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// The constant as [channels] when it varies along the channel dimension of an output of that rank only.
std::optional<Tensor> as_bias(const Tensor& addend, s64 channels, int trailing) {
  if (addend.dtype() != Dtype::f32 || addend.elements() != channels) return std::nullopt;
  const int axis = addend.shape().rank() - 1 - trailing;
  if (axis < 0 || addend.shape()[axis] != channels) return std::nullopt;
  return addend.reshaped({channels});
}

std::optional<Tensor> bias_for(const Graph& graph, const Node& node, const Tensor& addend) {
  const Tensor* w = graph.constant_input(node, 1);
  if (w == nullptr || node.input(2) != kNoValue || node.input(3) != kNoValue) return std::nullopt;
  if (!node.attrs.s("activation", "").empty() || w->shape().rank() < 1) return std::nullopt;
  if (is_op(node, "MatMul")) return as_bias(addend, w->shape()[w->shape().rank() - 1], 0);
  if (is_op(node, "Conv")) return as_bias(addend, w->shape()[0], w->shape().rank() - 2);
  return std::nullopt;
}

}  // namespace

void fuse_bias(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  for (Node& add : graph.nodes) {
    if (!is_op(add, "Add")) continue;
    for (size_t side = 0; side < 2; ++side) {
      const Node* node = producer_of(graph, uses, add.inputs[side]);
      const Tensor* addend = graph.constant_input(add, 1 - side);
      if (node == nullptr || addend == nullptr) continue;
      if (only_reader(graph, uses, add.inputs[side]) == nullptr) continue;
      const std::optional<Tensor> bias = bias_for(graph, *node, *addend);
      if (!bias || !rewrites.allow()) continue;
      Node fused = *node;
      fused.inputs.resize(3, kNoValue);
      fused.inputs[2] = graph.add_constant(node->name + ".bias", *bias);
      replace_fused(add, std::move(fused), *node);
      break;
    }
  }
}

}  // namespace octet
