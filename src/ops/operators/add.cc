// SPDX-License-Identifier: Apache-2.0
// Elementwise a + b with broadcasting, then the fused activation (attribute `activation`, f32 only).
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/quantized/quantize_sum.h"
#include "ops/shared/activation.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  refuse_fused_form(parser, 2);
  parse_legacy_broadcast(parser);
}

void infer(Inference& inference) {
  infer_numeric_broadcast(inference);
  const bool activated = activation_of(inference.node).kind != Activation::Kind::none;
  if (activated && inference.inputs[0].dtype != Dtype::f32) {
    fail(Error::Code::invalid_model, "a fused activation needs f32 inputs, got {}",
         dtype_name(inference.inputs[0].dtype));
  }
}

void eval(const Eval& eval) {
  eval_binary(eval, [](auto a, auto b) { return wrapping_add(a, b); });
  const Activation activation = activation_of(eval.node);
  if (activation.kind == Activation::Kind::none) return;
  for (f32& x : eval.outputs[0].as<f32>()) x = apply(activation, x);
}

QuantizeResult quantize_add(const QuantizeRequest& request) { return quantize_sum(request, 1.0f); }

constexpr OpTraits kTraits{.elementwise = true, .takes_activation = true};

}  // namespace

extern constinit const OpDef kAdd{
    .name = "Add",
    .inputs = {2, 2},
    .parse = parse,
    .infer = infer,
    .eval = eval,
    .quant = {.kind = QuantKind::arithmetic, .quantize = quantize_add},
    .traits = &kTraits};
}  // namespace octet
