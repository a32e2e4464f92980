// SPDX-License-Identifier: Apache-2.0
// Elementwise natural logarithm.
#include "ops/shared/forms.h"
#include "ops/shared/real_math.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return natural_log(x); });
}

}  // namespace

extern constinit const OpDef kLog = real_function("Log", eval, drop_consumed_inputs);
}  // namespace octet
