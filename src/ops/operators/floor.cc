// SPDX-License-Identifier: Apache-2.0
// Elementwise rounding towards minus infinity.
#include <cmath>

#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return std::floor(x); });
}

}  // namespace

extern constinit const OpDef kFloor = real_function("Floor", eval, drop_consumed_inputs);
}  // namespace octet
