// SPDX-License-Identifier: Apache-2.0
// x / (1 + |x|).
#include <cmath>

#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return x / (1.0 + std::fabs(x)); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return x / (1.0f + std::fabs(x)); });
}

}  // namespace

extern constinit const OpDef kSoftsign = float_function<real>("Softsign", eval);
}  // namespace octet
