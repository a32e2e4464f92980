// SPDX-License-Identifier: Apache-2.0
// Elementwise rounding to the nearest integer, ties to even.
#include <cmath>

#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  // The default rounding mode: ties to even.
  eval_unary_real(eval, [](auto x) { return std::nearbyint(x); });
}

}  // namespace

extern constinit const OpDef kRound = real_function("Round", eval);
}  // namespace octet
