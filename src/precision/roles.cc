// SPDX-License-Identifier: Apache-2.0
#include "precision/roles.h"

namespace octet {

bool has_integer_rule(const Graph& graph, const Node& node) {
  if (node.op->quant.kind == QuantKind::none || node.outputs.empty()) return false;
  return node.outputs[0] != kNoValue && is_real(graph.value(node.outputs[0]).type);
}

Decision without_real_type(const TensorType& type) {
  if (type.shape.is_unknown())
    return {Precision::f32, ReasonCode::unknown_type, "its type is known only during a run"};
  return {precision_of(type.dtype), ReasonCode::not_real,
          "not real-valued: shape or index arithmetic"};
}

bool gives_codes_only(const Node& node) {
  return node.op->quant.kind != QuantKind::compute || node.op->quant.quantize == nullptr;
}

std::vector<ValueId> code_inputs(const Graph& graph, const Node& node) {
  const QuantRule& rule = node.op->quant;
  std::vector<ValueId> ids;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool moved = rule.kind != QuantKind::move_codes || rule.moved_input < 0 ||
                       i == static_cast<size_t>(rule.moved_input);
    if (moved && is_real_activation(graph, node.inputs[i])) ids.push_back(node.inputs[i]);
  }
  return ids;
}

std::vector<ValueId> ranged_values(const Graph& graph, const Node& node) {
  std::vector<ValueId> ids = code_inputs(graph, node);
  for (ValueId id : node.outputs) {
    if (is_real_activation(graph, id)) ids.push_back(id);
  }
  return ids;
}

}  // namespace octet
