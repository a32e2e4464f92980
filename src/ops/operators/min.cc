// SPDX-License-Identifier: Apache-2.0
// Elementwise minimum of any number of broadcast inputs; NaN wins.
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_variadic(eval, [](auto a, auto b) { return smaller(a, b); });
}

constexpr OpTraits kTraits{.elementwise = true};

}  // namespace

extern constinit const OpDef kMin{.name = "Min",
                                  .domain = "",
                                  .inputs = {1, -1},
                                  .outputs = {1, 1},
                                  .parse = drop_consumed_inputs,
                                  .infer = infer_numeric_broadcast,
                                  .eval = eval,
                                  .traits = &kTraits};
}  // namespace octet
