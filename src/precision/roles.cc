// SPDX-License-Identifier: Apache-2.0
#include "precision/roles.h"

#include "graph/op_traits.h"
#include "passes/qdq.h"
#include "plugin/choice.h"
#include "precision/plugin_role.h"

namespace octet {

namespace {

bool is_recurrence(const Node& node) { return node.op->traits->recurrence_of_codes != nullptr; }

}  // namespace

bool has_integer_rule(const Graph& graph, const Node& node) {
  if (node.op->quant.kind == QuantKind::none || node.outputs.empty()) return false;
  // Others of its results may be real, or its inputs alone.
  if (is_choosing_plugin(node)) return true;
  const ValueId id = result_of(node);
  return id != kNoValue && is_real(graph.value(id).type);
}

Decision without_real_type(const TensorType& type) {
  if (type.shape.is_unknown())
    return {Precision::f32, ReasonCode::unknown_type, "its type is known only during a run"};
  return {precision_of(type.dtype), ReasonCode::not_real,
          "not real-valued: shape or index arithmetic"};
}

bool reads_codes(const Node& node, size_t input) {
  // Its states are reals, and only the operator knows the codes that it multiplies.
  if (is_recurrence(node)) return input == 0;
  return !is_choosing_plugin(node) || plugin_reads_codes(node, input);
}

bool gives_codes(const Node& node, size_t output) {
  if (is_recurrence(node)) return false;
  return !is_choosing_plugin(node) || plugin_writes_codes(node, output);
}

bool gives_codes_only(const Node& node, size_t output) {
  if (is_choosing_plugin(node)) return gives_codes(node, output);
  return node.op->quant.kind != QuantKind::compute || node.op->quant.quantize == nullptr;
}

std::vector<ValueId> code_inputs(const Graph& graph, const Node& node) {
  const QuantRule& rule = node.op->quant;
  std::vector<ValueId> ids;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool moved = rule.kind != QuantKind::move_codes || rule.moved_input < 0 ||
                       i == static_cast<size_t>(rule.moved_input);
    if (moved && reads_codes(node, i) && is_real_activation(graph, node.inputs[i]))
      ids.push_back(node.inputs[i]);
  }
  return ids;
}

std::vector<ValueId> ranged_values(const Graph& graph, const Node& node) {
  std::vector<ValueId> ids = code_inputs(graph, node);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (gives_codes(node, i) && is_real_activation(graph, id)) ids.push_back(id);
  }
  return ids;
}

}  // namespace octet
