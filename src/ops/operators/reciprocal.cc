// SPDX-License-Identifier: Apache-2.0
// Elementwise 1 / x.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return 1 / x; });
}

}  // namespace

extern constinit const OpDef kReciprocal = real_function("Reciprocal", eval, drop_consumed_inputs);
}  // namespace octet
