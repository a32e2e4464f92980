// SPDX-License-Identifier: Apache-2.0
// clamp(alpha * x + beta, 0, 1).
#include <algorithm>

#include "core/math.h"
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&HardSigmoidAttributes::alpha>(node);
  const f64 beta = attribute_of<&HardSigmoidAttributes::beta>(node);
  return std::clamp(alpha * x + beta, 0.0, 1.0);
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&HardSigmoidAttributes::alpha>(eval.node);
  const f32 beta = attribute_of<&HardSigmoidAttributes::beta>(eval.node);
  eval_elementwise(eval, [&](f32 x) { return math_hard_sigmoid(x, alpha, beta); });
}

}  // namespace

extern constinit const OpDef kHardSigmoid = float_function<real>("HardSigmoid", eval);
}  // namespace octet
