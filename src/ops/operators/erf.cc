// SPDX-License-Identifier: Apache-2.0
// The error function.
#include <cmath>

#include "core/math.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return std::erf(x); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return math_erf(x); });
}

}  // namespace

extern constinit const OpDef kErf = float_function<real>("Erf", eval);
}  // namespace octet
