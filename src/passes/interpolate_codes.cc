// SPDX-License-Identifier: Apache-2.0
// A Resize that interpolates the codes of a QuantizeLinear, as quantizers for integer operators leave it (QLinearConv and the like):
// with a DequantizeLinear before it and a QuantizeLinear behind it, of the same scale and zero point, it gives these codes too, since
// the sum of the weights is one, and becomes an integer layer as in any Q/DQ model.
#include <optional>

#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

// What the codes of a value mean, through layers that move them.
std::optional<CodeType> meaning_of(Graph& graph, const Uses& uses, ValueId id) {
  const Node* node = producer_of(graph, uses, id);
  while (node != nullptr && !is_quantize(*node)) {
    if (node->op->quant.kind != QuantKind::move_codes || moved_inputs(*node).size() != 1) return {};
    id = node->inputs[moved_inputs(*node).front()];
    node = producer_of(graph, uses, id);
  }
  return node != nullptr ? code_type(graph, *node) : std::nullopt;
}

void surround(Graph& graph, GraphEdit& edit, size_t at, const CodeType& type) {
  const std::string name = graph.nodes[at].name;
  Node before = make_dequantize(graph, graph.nodes[at].inputs[0], type, name + ".reals");
  const ValueId codes = graph.nodes[at].outputs[0];
  const TensorType real{Dtype::f32, graph.value(codes).type.shape};
  const ValueId reals = graph.add_value(name + ".real", real);
  Node after = make_quantize(graph, reals, type, name + ".codes");
  after.outputs = {codes};
  graph.value(codes).quant = type.params;
  graph.nodes[at].inputs[0] = before.outputs[0];
  graph.nodes[at].outputs[0] = reals;
  edit.insert_before(at, std::move(before));
  edit.insert_after(at, std::move(after));
}

}  // namespace

void interpolate_codes(Graph& graph, Rewrites& rewrites) {
  GraphEdit edit(graph);
  const Uses& uses = rewrites.uses(graph);
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    if (!is_op(graph.nodes[at], "Interpolate")) continue;
    const std::optional<CodeType> type = meaning_of(graph, uses, graph.nodes[at].inputs[0]);
    if (type && rewrites.allow()) surround(graph, edit, at, *type);
  }
  edit.apply();
}

}  // namespace octet
