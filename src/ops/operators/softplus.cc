// SPDX-License-Identifier: Apache-2.0
// log(1 + e^x), in the form that does not overflow.
#include <algorithm>
#include <cmath>

#include "core/math.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

// log(1 + t) for t in [0, 1]; the quotient undoes the rounding of 1 + t, so that a small t is not lost.
f32 log_one_plus(f32 t) {
  const f32 u = 1.0f + t;
  return u == 1.0f ? t : math_log(u) * (t / (u - 1.0f));
}

void eval(const Eval& eval) {
  eval_elementwise(eval,
                   [](f32 x) { return std::max(x, 0.0f) + log_one_plus(math_exp(-std::fabs(x))); });
}

}  // namespace

extern constinit const OpDef kSoftplus = float_function<real>("Softplus", eval);
}  // namespace octet
