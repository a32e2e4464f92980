// SPDX-License-Identifier: Apache-2.0
// Elementwise 1 / x.
#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_unary_real(eval, [](auto x) { return 1 / x; });
}

}  // namespace

extern constinit const OpDef kReciprocal{.name = "Reciprocal",
                                         .domain = "",
                                         .inputs = {1, 1},
                                         .outputs = {1, 1},
                                         .parse = drop_consumed_inputs,
                                         .infer = infer_real,
                                         .eval = eval};
}  // namespace octet
