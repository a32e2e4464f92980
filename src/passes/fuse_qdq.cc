// SPDX-License-Identifier: Apache-2.0
// DQ -> op -> Q becomes the operator's integer form; without a Q after it, a form with a real result where there is one.
// The operator's own file builds it (OpDef::quant); why it could not is kept as the node's reason.
#include <optional>

#include "ops/attributes/activation.h"
#include "ops/quantized/quantize_product.h"
#include "ops/quantized/zero_points.h"
#include "passes/functions.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

struct Surroundings {
  QuantizeRequest request;
  Node* quantize = nullptr;          // the only reader of the result, when it is a Q
  std::vector<f32> output_scales;    // where that Q has one for each channel
  std::vector<std::string> origins;  // of the Q/DQ nodes that disappear into this node
};

void add_origins(Surroundings& around, const Node& node) {
  around.origins.insert(around.origins.end(), node.origins.begin(), node.origins.end());
}

// The Relu behind a normalization, where it alone reads it: the lower end of the codes that are made of its result.
const Node* clamp_behind(Graph& graph, const Uses& uses, const Node& node) {
  if (!is_op(node, "InstanceNormalization")) return nullptr;
  const Node* reader = only_reader(graph, uses, node.outputs[0]);
  if (reader == nullptr || !is_op(*reader, "Relu")) return nullptr;
  const Node* quantize = only_reader(graph, uses, reader->outputs[0]);
  return quantize != nullptr && is_quantize(*quantize) ? reader : nullptr;
}

// With the Relu's result for its own; nobody runs it.
Node with_clamp(const Node& node, const Node& relu) {
  Node clamped = node;
  set_attribute<&ActivationAttributes::activation>(clamped.attrs, Activation::Kind::relu);
  clamped.outputs = relu.outputs;
  append_origins(clamped, relu);
  return clamped;
}

Surroundings look_around(Graph& graph, const Uses& uses, const Node& node) {
  Surroundings around{{graph, node, {}, {}, Dtype::f32}, nullptr, {}, {}};
  for (ValueId id : node.inputs) {
    const Node* dq = producer_of(graph, uses, id);
    std::optional<QuantizedInput> input;
    if (dq != nullptr && is_dequantize(*dq)) input = read_dequantize(graph, *dq);
    if (input && graph.is_constant(input->codes)) add_origins(around, *dq);
    around.request.inputs.push_back(input.value_or(QuantizedInput{}));
  }
  // Its last states are reals, and with them its first result.
  if (node.op->traits->recurrence_of_codes != nullptr) return around;
  Node* reader = only_reader(graph, uses, node.outputs[0]);
  if (reader == nullptr || !is_quantize(*reader)) return around;
  if (const std::optional<CodeType> type = code_type(graph, *reader)) {
    around.quantize = reader;
    around.request.output = type->params;
    around.request.output_dtype = type->dtype;
    add_origins(around, *reader);
  } else if (auto channels = channel_codes(graph, *reader); channels && is_op(node, "Conv")) {
    around.quantize = reader;
    around.request.output = {1.0f, channels->zero_point};
    around.request.output_dtype = channels->dtype;
    around.output_scales = std::move(channels->scales);
    add_origins(around, *reader);
  }
  return around;
}

bool has_integer_form(const Graph& graph, const Node& node) {
  const QuantRule& rule = node.op->quant;
  return rule.quantize != nullptr && rule.kind != QuantKind::move_codes &&
         node.decision.precision != Precision::f32 && result_of(node) != kNoValue &&
         graph.value(result_of(node)).type.dtype == Dtype::f32;
}

bool has_codes(const QuantizeRequest& request) {
  return !request.inputs.empty() && request.inputs[0].codes != kNoValue;
}

// Codes that no rule is asked about, because they cannot be read as one tensor's.
void explain_unread(Graph& graph, const Uses& uses, Node& node) {
  const Node* dq = producer_of(graph, uses, node.input(0));
  if (dq == nullptr || !is_dequantize(*dq) || node.decision.precision != Precision::none) return;
  const Tensor* zero_point = graph.constant_input(*dq, 2);
  if (zero_point == nullptr || zero_point->elements() == 1) return;
  node.decision = {Precision::f32, ReasonCode::refused_by_operator,
                   "input 0 has a zero point for each channel, and they differ"};
}

QuantizeResult integer_form(Surroundings& around) {
  const auto rule = around.request.node.op->quant.quantize;
  if (around.output_scales.empty()) return rule(around.request);
  QuantizeResult result = quantize_product(around.request, kConvolutionRule, around.output_scales);
  if (result.reject.empty()) return result;
  // The QuantizeLinear stays as it is.
  around.quantize = nullptr;
  around.request.output_dtype = Dtype::f32;
  return rule(around.request);
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
  const bool always_real = node.op->traits->recurrence_of_codes != nullptr;
  if (around.quantize == nullptr && !always_real) fused.decision.reason += kStaysReal;
  if (around.quantize != nullptr && around.output_scales.empty())
    graph.value(fused.outputs[0]).quant = around.request.output;
  place = std::move(fused);
  forget_contradicted(graph, place);
}

}  // namespace

void fuse_qdq(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& node : graph.nodes) {
    if (!has_integer_form(graph, node)) continue;
    const Node* clamp = clamp_behind(graph, uses, node);
    const Node asked = clamp == nullptr ? node : with_clamp(node, *clamp);
    Surroundings around = look_around(graph, uses, asked);
    around.request.weight_codes = rewrites.weight_codes();
    if (!has_codes(around.request)) {
      explain_unread(graph, uses, node);
      continue;
    }
    QuantizeResult result = integer_form(around);
    if (!result.reject.empty()) {
      node.decision = {Precision::f32, ReasonCode::refused_by_operator, result.reject};
      continue;
    }
    if (!rewrites.allow()) return;
    Node& place = around.quantize != nullptr ? *around.quantize : node;
    finish(graph, place, asked, around, std::move(result.node));
  }
}

}  // namespace octet
