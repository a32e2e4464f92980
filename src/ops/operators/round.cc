// SPDX-License-Identifier: Apache-2.0
// Elementwise rounding to the nearest integer, ties to even.
#include <cmath>

#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  // The default rounding mode: ties to even.
  eval_unary_real(eval, [](auto x) { return std::nearbyint(x); });
}

}  // namespace

extern constinit const OpDef kRound{.name = "Round",
                                    .domain = "",
                                    .inputs = {1, 1},
                                    .outputs = {1, 1},
                                    .infer = infer_real,
                                    .eval = eval};
}  // namespace octet
