// SPDX-License-Identifier: Apache-2.0
// Elementwise minimum of any number of broadcast inputs; NaN wins.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_variadic(eval, [](auto a, auto b) { return smaller(a, b); });
}

}  // namespace

extern constinit const OpDef kMin = broadcast_all("Min", eval);
}  // namespace octet
