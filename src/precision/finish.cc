// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"
#include "passes/qdq.h"
#include "precision/precision.h"
#include "precision/roles.h"

namespace octet {
namespace {

bool runs_on_codes(const Graph& graph, const Node& node) {
  if (node.op->domain == "octet") return true;
  // Codes with a scale for each channel have no parameters of their own: what made them INT8 said so.
  const bool decided = node.decision.precision == Precision::int8;
  return std::ranges::any_of(node.outputs, [&](ValueId id) {
    return id != kNoValue &&
           (graph.value(id).quant || (decided && is_code(graph.value(id).type.dtype)));
  });
}

Decision missing_decision(const Graph& graph, const Node& node) {
  if (is_quantize(node) || is_dequantize(node))
    return {Precision::int8, ReasonCode::boundary, "boundary between f32 and INT8"};
  if (runs_on_codes(graph, node))
    return {Precision::int8, ReasonCode::moves_codes, "moves codes; the scale stays"};
  const ValueId result = result_of(node);
  const TensorType type = result == kNoValue ? TensorType{} : graph.value(result).type;
  if (type.shape.is_unknown() || type.dtype != Dtype::f32) return without_real_type(type);
  if (!has_integer_rule(graph, node))
    return {Precision::f32, ReasonCode::no_integer_form,
            fmt::format("{} has no integer form", node.op->name)};
  return {Precision::f32, ReasonCode::no_qdq, "no Q/DQ around it"};
}

// Codes that a QuantizeLinear of the model itself makes say what they mean, too.
void note_params(Graph& graph, const Node& node) {
  if (!is_quantize(node)) return;
  if (const auto type = code_type(graph, node)) graph.value(node.outputs[0]).quant = type->params;
}

void adopt_real_name(Graph& graph, ValueId id) {
  constexpr std::string_view kSuffix = ".codes";
  const std::string name = graph.value(id).name;
  const size_t at = name.rfind(kSuffix);
  if (at != std::string::npos) graph.rename(id, name.substr(0, at));
}

}  // namespace

void finish_decisions(Graph& graph) {
  graph.compact();
  for (Node& node : graph.nodes) {
    note_params(graph, node);
    Decision& decision = node.decision;
    if (decision.precision == Precision::int8 && !runs_on_codes(graph, node)) {
      decision = {Precision::f32, ReasonCode::no_codes_came,
                  "planned for INT8, but its inputs did not come as codes"};
    }
    if (decision.precision == Precision::none || is_quantize(node) || is_dequantize(node))
      decision = missing_decision(graph, node);
    for (ValueId id : node.outputs) {
      if (id != kNoValue && graph.value(id).quant) adopt_real_name(graph, id);
    }
  }
  for (const Node& node : graph.nodes) forget_contradicted(graph, node);
}

}  // namespace octet
