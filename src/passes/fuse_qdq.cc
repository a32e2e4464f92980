// SPDX-License-Identifier: Apache-2.0
// DQ -> op -> Q becomes the operator's integer form; without a Q after it, a form with a real result where there is one.
// The operator's own file builds it (OpDef::quant); why it could not is kept as the node's reason.
#include <optional>

#include "ops/quantized/zero_points.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

struct Surroundings {
  QuantizeRequest request;
  Node* quantize = nullptr;          // the only reader of the result, when it is a Q
  std::vector<std::string> origins;  // of the Q/DQ nodes that disappear into this node
};

void add_origins(Surroundings& around, const Node& node) {
  around.origins.insert(around.origins.end(), node.origins.begin(), node.origins.end());
}

Surroundings look_around(Graph& graph, const Uses& uses, const Node& node) {
  Surroundings around{{graph, node, {}, {}, Dtype::f32}, nullptr, {}};
  for (ValueId id : node.inputs) {
    const Node* dq = producer_of(graph, uses, id);
    std::optional<QuantizedInput> input;
    if (dq != nullptr && is_dequantize(*dq)) input = read_dequantize(graph, *dq);
    if (input && graph.is_constant(input->codes)) add_origins(around, *dq);
    around.request.inputs.push_back(input.value_or(QuantizedInput{}));
  }
  Node* reader = only_reader(graph, uses, node.outputs[0]);
  if (reader == nullptr || !is_quantize(*reader)) return around;
  if (const std::optional<CodeType> type = code_type(graph, *reader)) {
    around.quantize = reader;
    around.request.output = type->params;
    around.request.output_dtype = type->dtype;
    add_origins(around, *reader);
  }
  return around;
}

bool has_integer_form(const Graph& graph, const Node& node) {
  const QuantRule& rule = node.op->quant;
  return rule.quantize != nullptr && rule.kind != QuantKind::move_codes &&
         node.decision.precision != Precision::f32 &&
         graph.value(node.outputs[0]).type.dtype == Dtype::f32;
}

bool has_codes(const QuantizeRequest& request) {
  return !request.inputs.empty() && request.inputs[0].codes != kNoValue;
}

void finish(Graph& graph, Node& place, const Node& node, const Surroundings& around, Node fused) {
  fused.name = node.name;
  fused.origins = node.origins;
  fused.origins.insert(fused.origins.end(), around.origins.begin(), around.origins.end());
  fused.outputs = around.quantize != nullptr ? around.quantize->outputs : node.outputs;
  fused.decision = node.decision;
  if (fused.decision.precision == Precision::none) {
    fused.decision = {Precision::int8, ReasonCode::qdq_in_model, "the model places Q/DQ around it"};
  }
  if (around.quantize == nullptr) {
    fused.decision.reason += "; the result stays f32 because its reader is not INT8";
  } else {
    graph.value(fused.outputs[0]).quant = around.request.output;
  }
  place = std::move(fused);
  forget_contradicted(graph, place);
}

}  // namespace

void fuse_qdq(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (!has_integer_form(graph, node)) continue;
    Surroundings around = look_around(graph, uses, node);
    around.request.weight_codes = rewrites.weight_codes();
    if (!has_codes(around.request)) continue;
    QuantizeResult result = node.op->quant.quantize(around.request);
    if (!result.reject.empty()) {
      node.decision = {Precision::f32, ReasonCode::refused_by_operator, result.reject};
      continue;
    }
    if (!rewrites.allow()) return;
    Node& place = around.quantize != nullptr ? *around.quantize : node;
    const Node copy = node;
    finish(graph, place, copy, around, std::move(result.node));
  }
}

}  // namespace octet
