// SPDX-License-Identifier: Apache-2.0
// x * clamp(x / 6 + 1 / 2, 0, 1).
#include <algorithm>

#include "core/math.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return x * std::clamp(x / 6.0 + 0.5, 0.0, 1.0); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return math_hard_swish(x); });
}

}  // namespace

extern constinit const OpDef kHardSwish = float_function<real>("HardSwish", eval);
}  // namespace octet
