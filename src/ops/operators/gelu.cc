// SPDX-License-Identifier: Apache-2.0
// x * Phi(x), exact or by the tanh approximation.
#include <cmath>

#include "core/math.h"
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

bool uses_tanh(const Node& node) {
  return attribute_of<&GeluAttributes::approximate>(node) == GeluForm::tanh;
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

}  // namespace

extern constinit const OpDef kGelu = float_function<real>("Gelu", eval);
}  // namespace octet
