// SPDX-License-Identifier: Apache-2.0
// x * tanh(softplus(x)).
#include <algorithm>
#include <cmath>

#include "core/math.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) {
  return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
}

// tanh(log(1 + e)) = n / (n + 2) with n = e * (e + 2): nothing cancels. Beyond 20 the quotient is 1.
f32 mish(f32 x) {
  const f32 e = math_exp(std::min(x, 20.0f));
  const f32 n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

void eval(const Eval& eval) { eval_elementwise(eval, mish); }

}  // namespace

extern constinit const OpDef kMish = float_function<real>("Mish", eval);
}  // namespace octet
