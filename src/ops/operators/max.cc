// SPDX-License-Identifier: Apache-2.0
// Elementwise maximum of any number of broadcast inputs; NaN wins.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_variadic(eval, [](auto a, auto b) { return larger(a, b); });
}

}  // namespace

extern constinit const OpDef kMax = broadcast_all("Max", eval);
}  // namespace octet
