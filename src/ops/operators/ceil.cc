// SPDX-License-Identifier: Apache-2.0
// Elementwise rounding towards plus infinity.
#include <cmath>

#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return std::ceil(x); });
}

}  // namespace

extern constinit const OpDef kCeil = real_function("Ceil", eval, drop_consumed_inputs);
}  // namespace octet
