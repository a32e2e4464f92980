// SPDX-License-Identifier: Apache-2.0
// clamp(alpha * x + beta, 0, 1).
#include <algorithm>

#include "core/math.h"
#include "graph/op_def.h"
#include "ops/attributes/functions.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&HardSigmoidAttributes::alpha>(node);
  const f64 beta = attribute_of<&HardSigmoidAttributes::beta>(node);
  return std::clamp(alpha * x + beta, 0.0, 1.0);
}

void infer(Inference& inference) {
  real(0.0, inference.node);  // attributes of a wrong kind fail here
  infer_elementwise_float(inference);
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&HardSigmoidAttributes::alpha>(eval.node);
  const f32 beta = attribute_of<&HardSigmoidAttributes::beta>(eval.node);
  eval_elementwise(eval, [&](f32 x) { return math_hard_sigmoid(x, alpha, beta); });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kHardSigmoid{
    .name = "HardSigmoid",
    .domain = "",
    .inputs = {1, 1},
    .outputs = {1, 1},
    .parse = drop_consumed_inputs,
    .infer = infer,
    .eval = eval,
    .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
