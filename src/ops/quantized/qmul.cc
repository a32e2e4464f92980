// SPDX-License-Identifier: Apache-2.0
// QMul: t = fl((a - zp_a) * (b - zp_b) * multiplier), the integer product exact.
#include "ops/attributes/codes.h"
#include "ops/quantized/forms_of_codes.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  attributes_of<QMulAttributes>(inference.node);
  infer_code_pairs(inference);
}

void eval(const Eval& eval) {
  const f32 multiplier = attribute_of<&QMulAttributes::multiplier>(eval.node);
  eval_code_pairs(eval, [&](s32 a, s32 b) { return static_cast<f32>(a * b) * multiplier; });
}

}  // namespace

extern constinit const OpDef kQMul = on_codes("QMul", {2, 2}, infer, eval);
}  // namespace octet
