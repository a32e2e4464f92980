// SPDX-License-Identifier: Apache-2.0
// Elementwise a * b with broadcasting.
#include "ops/attributes/codes.h"
#include "ops/quantized/quantize_node.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_binary(eval, [](auto a, auto b) { return wrapping_mul(a, b); });
}

QuantizeResult quantize_mul(const QuantizeRequest& request) {
  QuantizeResult result = code_node(request, "QMul", 2);
  if (!result.reject.empty()) return result;
  const f32 product = request.inputs[0].scalar_scale() * request.inputs[1].scalar_scale();
  const f32 multiplier = product / request.output.scale;
  if (!all_finite({&multiplier, 1})) result.reject = "the multiplier of the scales overflows f32";
  set_attribute<&QMulAttributes::multiplier>(result.node.attrs, multiplier);
  return result;
}

}  // namespace

extern constinit const OpDef kMul = arithmetic_pair("Mul", eval, quantize_mul);
}  // namespace octet
