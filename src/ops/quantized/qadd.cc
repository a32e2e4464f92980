// SPDX-License-Identifier: Apache-2.0
// QAdd: t = fma(a - zp_a, Ra, fl((b - zp_b) * Rb)), attribute multipliers = [Ra, Rb]; Sub negates Rb.
#include <cmath>
#include <vector>

#include "core/check.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/forms_of_codes.h"

namespace octet {
namespace {

std::vector<f32> multipliers_of(const Node& node) {
  std::vector<f32> multipliers = attribute_of<&QAddAttributes::multipliers>(node);
  if (multipliers.size() != 2) {
    fail(Error::Code::invalid_model, "attribute 'multipliers' has {} values, expected 2",
         multipliers.size());
  }
  return multipliers;
}

void infer(Inference& inference) {
  multipliers_of(inference.node);
  infer_code_pairs(inference);
}

void eval(const Eval& eval) {
  const std::vector<f32> r = multipliers_of(eval.node);
  eval_code_pairs(eval, [&](s32 a, s32 b) {
    return std::fmaf(static_cast<f32>(a), r[0], static_cast<f32>(b) * r[1]);
  });
}

}  // namespace

extern constinit const OpDef kQAdd = on_codes("QAdd", {2, 2}, infer, eval);
}  // namespace octet
