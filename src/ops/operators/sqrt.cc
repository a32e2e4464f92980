// SPDX-License-Identifier: Apache-2.0
// Elementwise square root.
#include <cmath>

#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return std::sqrt(x); });
}

}  // namespace

extern constinit const OpDef kSqrt = real_function("Sqrt", eval, drop_consumed_inputs);
}  // namespace octet
