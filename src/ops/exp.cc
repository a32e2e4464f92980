// SPDX-License-Identifier: Apache-2.0
// Elementwise e^x.
#include <cmath>

#include "core/math.h"
#include "graph/op_def.h"
#include "ops/elementwise.h"

namespace octet {
namespace {

f32 apply_to(f32 x) { return math_exp(x); }
f64 apply_to(f64 x) { return std::exp(x); }

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return apply_to(x); });
}

}  // namespace

extern constinit const OpDef kExp{.name = "Exp",
                                  .domain = "",
                                  .inputs = {1, 1},
                                  .outputs = {1, 1},
                                  .parse = drop_consumed_inputs,
                                  .infer = infer_real,
                                  .eval = eval};
}  // namespace octet
