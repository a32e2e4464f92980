// SPDX-License-Identifier: Apache-2.0
// Elementwise e^x.
#include "ops/shared/forms.h"
#include "ops/shared/real_math.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return exponential(x); });
}

}  // namespace

extern constinit const OpDef kExp = real_function("Exp", eval, drop_consumed_inputs);
}  // namespace octet
