// SPDX-License-Identifier: Apache-2.0
// A function of single reals (SiLU, GELU, HardSwish, Sigmoid) that is only quantized afterwards writes codes itself: the same codes, a
// pass over memory in f32 less. Quantizers put no Q/DQ between a convolution and its activation, so no table of codes fits there.
#include "graph/op_traits.h"
#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/quantize_node.h"
#include "ops/registry.h"
#include "passes/functions.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {

bool is_function_of_reals(const Graph& graph, const Node& node) {
  return node.op->quant.kind == QuantKind::table && node.inputs.size() == 1 &&
         node.outputs.size() == 1 && !graph.is_constant(node.inputs[0]) &&
         graph.value(node.inputs[0]).type.dtype == Dtype::f32;
}

Activation bound_of(const Node& product) {
  const Activation activation = activation_of(product);
  return activation.is_clamp() ? activation : Activation{};
}

void quantize_function(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& quantize : graph.nodes) {
    if (!is_quantize(quantize)) continue;
    const ValueId real = quantize.inputs[0];
    const Node* function = producer_of(graph, uses, real);
    const std::optional<CodeType> type = code_type(graph, quantize);
    if (!type || function == nullptr || !is_function_of_reals(graph, *function)) continue;
    if (only_reader(graph, uses, real) == nullptr) continue;
    const QuantizeRequest request{graph, *function, {}, type->params, type->dtype};
    if (!unwritable_output(request).empty()) continue;
    if (!rewrites.allow()) return;
    Node fused = *function;
    fused.op = find_op("QFunction");
    set_attribute<&QFunctionAttributes::function>(fused.attrs, std::string(function->op->name));
    set_attribute<&QFunctionAttributes::scale>(fused.attrs, type->params.scale);
    set_output_attrs(fused, request, Activation{});
    fused.decision = {Precision::int8, ReasonCode::codes_of_rows, "its result is only quantized"};
    replace_fused(quantize, std::move(fused), *function);
    graph.value(quantize.outputs[0]).quant = type->params;
  }
}

}  // namespace octet
