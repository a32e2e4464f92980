// SPDX-License-Identifier: Apache-2.0
// x * sigmoid(alpha * x); with alpha 1 also called SiLU.
#include <cmath>

#include "core/math.h"
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&AlphaAttributes::alpha>(node);
  return x / (1.0 + std::exp(-alpha * x));
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&AlphaAttributes::alpha>(eval.node);
  eval_elementwise(eval, [&](f32 x) { return math_swish(x, alpha); });
}

}  // namespace

extern constinit const OpDef kSwish = float_function<real>("Swish", eval);
}  // namespace octet
