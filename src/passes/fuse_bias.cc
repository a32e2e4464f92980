// SPDX-License-Identifier: Apache-2.0
// Add of a constant per output channel after a bias-less Conv or MatMul becomes its bias.
#include <optional>

#include "ops/attributes/activation.h"
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

// The weights, or what their shape is: constant codes behind a DequantizeLinear of a Q/DQ model.
const Tensor* constant_weights(Graph& graph, const Uses& uses, const Node& node) {
  const Node* dequantize = producer_of(graph, uses, node.input(1));
  if (dequantize != nullptr && is_dequantize(*dequantize))
    return graph.constant_input(*dequantize, 0);
  return graph.constant_input(node, 1);
}

bool takes_bias(const Node& node) {
  return node.op->traits->integer_product != nullptr && node.input(2) == kNoValue &&
         node.input(3) == kNoValue && !has_activation(node);
}

std::optional<Tensor> bias_for(const Node& node, const Tensor* w, const Tensor& addend) {
  if (w == nullptr || w->shape().rank() < 1) return std::nullopt;
  if (is_op(node, "MatMul")) return as_bias(addend, w->shape()[w->shape().rank() - 1], 0);
  return as_bias(addend, w->shape()[0], w->shape().rank() - 2);
}

// The addend as the bias of a MatMul, where a DequantizeLinear makes it of s32 codes, one for each column.
bool is_coded_bias(Graph& graph, const Uses& uses, const Node& node, ValueId addend) {
  const Node* dequantize = producer_of(graph, uses, addend);
  if (dequantize == nullptr || !is_dequantize(*dequantize) || !is_op(node, "MatMul")) return false;
  const Tensor* codes = graph.constant_input(*dequantize, 0);
  const Tensor* w = constant_weights(graph, uses, node);
  return codes != nullptr && w != nullptr && codes->dtype() == Dtype::s32 &&
         w->shape().rank() > 0 && codes->shape() == Shape{w->shape()[w->shape().rank() - 1]};
}

// What the addition of `addend` adds to each output channel, as a value; kNoValue where it is something else.
ValueId bias_value(Graph& graph, const Uses& uses, const Node& node, ValueId addend) {
  if (is_coded_bias(graph, uses, node, addend)) return addend;
  if (!graph.is_constant(addend)) return kNoValue;
  const Tensor constant = graph.value(addend).constant;
  const std::optional<Tensor> bias = bias_for(node, constant_weights(graph, uses, node), constant);
  return bias ? graph.add_constant(node.name + ".bias", *bias) : kNoValue;
}

}  // namespace

void fuse_bias(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& add : graph.nodes) {
    if (!is_op(add, "Add")) continue;
    for (size_t side = 0; side < 2; ++side) {
      const Node* node = producer_of(graph, uses, add.inputs[side]);
      if (node == nullptr || !takes_bias(*node)) continue;
      if (only_reader(graph, uses, add.inputs[side]) == nullptr) continue;
      const auto rank = [&](ValueId id) { return graph.value(id).type.shape.rank(); };
      if (rank(add.outputs[0]) != rank(add.inputs[side])) continue;
      const ValueId bias = bias_value(graph, uses, *node, add.inputs[1 - side]);
      if (bias == kNoValue || !rewrites.allow()) continue;
      Node fused = *node;
      fused.inputs.resize(3, kNoValue);
      fused.inputs[2] = bias;
      replace_fused(add, std::move(fused), *node);
      break;
    }
  }
}

}  // namespace octet
