// SPDX-License-Identifier: Apache-2.0
// Softmax of reals that are only quantized afterwards writes codes itself: the same codes, two passes over memory less.
#include "ops/quantize_node.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {

void quantize_softmax(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  for (Node& quantize : graph.nodes) {
    if (!is_quantize(quantize)) continue;
    const ValueId real = quantize.inputs[0];
    const Node* softmax = producer_of(graph, uses, real);
    const std::optional<CodeType> type = code_type(graph, quantize);
    if (!type || softmax == nullptr || !is_op(*softmax, "Softmax")) continue;
    if (only_reader(graph, uses, real) == nullptr) continue;
    if (graph.value(softmax->inputs[0]).type.dtype != Dtype::f32) continue;
    if (graph.is_constant(softmax->inputs[0])) continue;
    const QuantizeRequest request{graph, *softmax, {}, type->params, type->dtype};
    if (!unwritable_output(request).empty()) continue;
    if (!rewrites.allow()) return;
    Node fused = *softmax;
    fused.op = find_op("QSoftmax");
    fused.attrs.set("scales", std::vector<f32>{1.0f, type->params.scale});
    fused.attrs.set("input_zero_points", std::vector<s64>{0});
    set_output_attrs(fused, request, Activation{});
    fused.decision = {"int8", "its result is only quantized"};
    replace_fused(quantize, std::move(fused), *softmax);
    graph.value(quantize.outputs[0]).quant = type->params;
  }
}

}  // namespace octet
