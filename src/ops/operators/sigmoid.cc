// SPDX-License-Identifier: Apache-2.0
// 1 / (1 + e^-x).
#include <cmath>

#include "core/math.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return 1.0 / (1.0 + std::exp(-x)); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return math_sigmoid(x); });
}

}  // namespace

extern constinit const OpDef kSigmoid = float_function<real>("Sigmoid", eval);
}  // namespace octet
