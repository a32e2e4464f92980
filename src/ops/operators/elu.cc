// SPDX-License-Identifier: Apache-2.0
// x, or alpha * (e^x - 1) below zero.
#include <cmath>

#include "core/math.h"
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&AlphaAttributes::alpha>(node);
  return x < 0.0 ? alpha * std::expm1(x) : x;
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&AlphaAttributes::alpha>(eval.node);
  eval_elementwise(eval, [&](f32 x) { return x < 0.0f ? alpha * (math_exp(x) - 1.0f) : x; });
}

}  // namespace

extern constinit const OpDef kElu = float_function<real>("Elu", eval);
}  // namespace octet
