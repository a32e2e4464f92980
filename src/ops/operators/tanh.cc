// SPDX-License-Identifier: Apache-2.0
// Hyperbolic tangent.
#include <cmath>

#include "core/math.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return std::tanh(x); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return math_tanh(x); });
}

}  // namespace

extern constinit const OpDef kTanh = float_function<real>("Tanh", eval);
}  // namespace octet
