// SPDX-License-Identifier: Apache-2.0
// Softmax, LayerNormalization, or InstanceNormalization of images, of reals that are only quantized afterwards writes codes itself: the same
// codes, two passes over memory less. Where the reals are codes dequantized, Softmax and LayerNormalization read those. The codes of an
// InstanceNormalization begin at the zero point where a Relu lies between.
#include <cmath>

#include "graph/op_traits.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/code_rows.h"
#include "ops/quantized/quantize_node.h"
#include "ops/quantized/zero_points.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

// Its codes have kernels for images alone, and these do clamp.
bool is_image_norm(const Node& node) { return is_op(node, "InstanceNormalization"); }

// The operator whose result is the codes of the node's; null where there is none, or where it would read more than rows.
const OpDef* as_codes(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1) return nullptr;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNoValue && !graph.is_constant(node.inputs[i])) return nullptr;
  }
  if (!rows_lie_last(graph, node)) return nullptr;
  if (is_image_norm(node) && graph.value(node.inputs[0]).type.shape.rank() != 4) return nullptr;
  return node.op->traits->rows_as_codes;
}

// The codes that the rows are made of, and their type; else the rows themselves, reals.
struct RowsInput {
  ValueId value;
  f32 scale = 1.0f;
  s32 zero_point = 0;
};

RowsInput input_of(Graph& graph, const Uses& uses, const Node& rows) {
  const ValueId reals = rows.inputs[0];
  const Node* dequantize = is_image_norm(rows) ? nullptr : producer_of(graph, uses, reals);
  if (dequantize == nullptr || !is_dequantize(*dequantize)) return {reals};
  const std::optional<CodeType> type = code_type(graph, *dequantize);
  if (!type || graph.is_constant(dequantize->inputs[0])) return {reals};
  if (!std::isnormal(type->params.scale) || type->params.scale < 0.0f) return {reals};
  return {dequantize->inputs[0], type->params.scale, type->params.zero_point};
}

constexpr Activation kRelu{.kind = Activation::Kind::relu, .min = 0.0f};

// What the quantized value is made of, a Relu aside.
struct Quantized {
  const Node* rows = nullptr;
  const Node* relu = nullptr;
};

Quantized quantized_by(Graph& graph, const Uses& uses, const Node& quantize, const CodeType& type) {
  const ValueId real = quantize.inputs[0];
  const Node* rows = producer_of(graph, uses, real);
  if (rows == nullptr || only_reader(graph, uses, real) == nullptr) return {};
  // Elsewhere NaN, which Relu leaves, has another code than what is below zero.
  if (!is_op(*rows, "Relu") || type.params.zero_point != code_range(type.dtype).lo) return {rows};
  const Node* before = producer_of(graph, uses, rows->inputs[0]);
  if (before == nullptr || !is_image_norm(*before) ||
      only_reader(graph, uses, rows->inputs[0]) == nullptr)
    return {};
  return {before, rows};
}

}  // namespace

void quantize_rows(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& quantize : graph.nodes) {
    if (!is_quantize(quantize)) continue;
    const std::optional<CodeType> type = code_type(graph, quantize);
    if (!type) continue;
    const auto [rows, relu] = quantized_by(graph, uses, quantize, *type);
    const OpDef* codes = rows == nullptr ? nullptr : as_codes(graph, *rows);
    if (codes == nullptr) continue;
    if (graph.value(rows->inputs[0]).type.dtype != Dtype::f32) continue;
    if (graph.is_constant(rows->inputs[0])) continue;
    const QuantizeRequest request{graph, *rows, {}, type->params, type->dtype};
    if (!unwritable_output(request).empty()) continue;
    if (!rewrites.allow()) return;
    Node fused = *rows;
    if (relu != nullptr) append_origins(fused, *relu);
    const Node earlier = fused;
    fused.op = codes;
    const RowsInput input = input_of(graph, uses, *rows);
    fused.inputs[0] = input.value;
    set_attribute<&CodeScalesAttributes::scales>(fused.attrs, {input.scale, type->params.scale});
    set_input_zero_points(fused, std::array{input.zero_point});
    set_output_attrs(fused, request, relu == nullptr ? Activation{} : kRelu);
    fused.decision = {Precision::int8, ReasonCode::codes_of_rows, "its result is only quantized"};
    replace_fused(quantize, std::move(fused), earlier);
    graph.value(quantize.outputs[0]).quant = type->params;
  }
}

}  // namespace octet
