// SPDX-License-Identifier: Apache-2.0
// x, or alpha * (e^x - 1) below zero.
#include <cmath>

#include "core/math.h"
#include "graph/op_def.h"
#include "ops/attributes/functions.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&AlphaAttributes::alpha>(node);
  return x < 0.0 ? alpha * std::expm1(x) : x;
}

void infer(Inference& inference) {
  real(0.0, inference.node);  // attributes of a wrong kind fail here
  infer_elementwise_float(inference);
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&AlphaAttributes::alpha>(eval.node);
  eval_elementwise(eval, [&](f32 x) { return x < 0.0f ? alpha * (math_exp(x) - 1.0f) : x; });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kElu{.name = "Elu",
                                  .domain = "",
                                  .inputs = {1, 1},
                                  .outputs = {1, 1},
                                  .parse = drop_consumed_inputs,
                                  .infer = infer,
                                  .eval = eval,
                                  .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
