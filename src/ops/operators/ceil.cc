// SPDX-License-Identifier: Apache-2.0
// Elementwise rounding towards plus infinity.
#include <cmath>

#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return std::ceil(x); });
}

}  // namespace

extern constinit const OpDef kCeil{.name = "Ceil",
                                   .domain = "",
                                   .inputs = {1, 1},
                                   .outputs = {1, 1},
                                   .parse = drop_consumed_inputs,
                                   .infer = infer_real,
                                   .eval = eval};
}  // namespace octet
