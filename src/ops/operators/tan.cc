// SPDX-License-Identifier: Apache-2.0
// The tangent.
#include <cmath>

#include "ops/shared/forms.h"

namespace octet {
namespace {

// In f64, rounded once: no backend has a fast form of it, so the bits come from here alone.
f32 apply_to(f32 x) { return static_cast<f32>(std::tan(static_cast<f64>(x))); }
f64 apply_to(f64 x) { return std::tan(x); }

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return apply_to(x); });
}

}  // namespace

extern constinit const OpDef kTan = real_function("Tan", eval);
}  // namespace octet
