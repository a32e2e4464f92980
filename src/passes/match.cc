// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"

namespace octet {

Node* producer_of(Graph& graph, const Uses& uses, ValueId id) {
  if (id == kNoValue || uses.producer(id) < 0) return nullptr;
  return &graph.nodes[static_cast<size_t>(uses.producer(id))];
}

Node* only_reader(Graph& graph, const Uses& uses, ValueId id) {
  const s32 index = uses.only_consumer(id);
  return index < 0 ? nullptr : &graph.nodes[static_cast<size_t>(index)];
}

std::optional<f32> scalar_constant(const Graph& graph, ValueId id) {
  if (!graph.is_constant(id)) return std::nullopt;
  const Tensor& tensor = graph.value(id).constant;
  if (tensor.dtype() != Dtype::f32 || tensor.elements() != 1) return std::nullopt;
  return tensor.as<f32>()[0];
}

std::vector<size_t> moved_inputs(const Node& node) {
  if (node.op->quant.moved_input >= 0) return {static_cast<size_t>(node.op->quant.moved_input)};
  std::vector<size_t> all(node.inputs.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

}  // namespace octet
