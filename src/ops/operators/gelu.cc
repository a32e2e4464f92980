// SPDX-License-Identifier: Apache-2.0
// x * Phi(x), exact or by the tanh approximation.
#include <cmath>

#include "core/math.h"
#include "graph/op_def.h"
#include "ops/attributes/functions.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

bool uses_tanh(const Node& node) {
  return attribute_of<&GeluAttributes::approximate>(node) == GeluForm::tanh;
}

void infer(Inference& inference) {
  uses_tanh(inference.node);
  infer_elementwise_float(inference);
}

f64 real(f64 x, const Node& node) {
  if (uses_tanh(node)) {
    const f64 inner = std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1.0 + std::tanh(inner));
  }
  return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
}

void eval(const Eval& eval) {
  if (uses_tanh(eval.node)) {
    eval_elementwise(eval, [](f32 x) { return math_gelu_tanh(x); });
  } else {
    eval_elementwise(eval, [](f32 x) { return math_gelu(x); });
  }
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kGelu{.name = "Gelu",
                                   .domain = "",
                                   .inputs = {1, 1},
                                   .outputs = {1, 1},
                                   .parse = drop_consumed_inputs,
                                   .infer = infer,
                                   .eval = eval,
                                   .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
