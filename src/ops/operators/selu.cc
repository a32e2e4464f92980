// SPDX-License-Identifier: Apache-2.0
// gamma * Elu(x, alpha).
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
  const f64 alpha = attribute_of<&SeluAttributes::alpha>(node);
  const f64 gamma = attribute_of<&SeluAttributes::gamma>(node);
  return gamma * (x > 0.0 ? x : alpha * std::expm1(x));
}

void infer(Inference& inference) {
  real(0.0, inference.node);  // attributes of a wrong kind fail here
  infer_elementwise_float(inference);
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&SeluAttributes::alpha>(eval.node);
  const f32 gamma = attribute_of<&SeluAttributes::gamma>(eval.node);
  eval_elementwise(eval,
                   [&](f32 x) { return gamma * (x > 0.0f ? x : alpha * (math_exp(x) - 1.0f)); });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kSelu{.name = "Selu",
                                   .domain = "",
                                   .inputs = {1, 1},
                                   .outputs = {1, 1},
                                   .parse = drop_consumed_inputs,
                                   .infer = infer,
                                   .eval = eval,
                                   .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
