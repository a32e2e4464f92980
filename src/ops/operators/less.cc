// SPDX-License-Identifier: Apache-2.0
// Elementwise a < b with broadcasting.
#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_compare(eval, [](auto a, auto b) { return a < b; });
}

}  // namespace

extern constinit const OpDef kLess{.name = "Less",
                                   .domain = "",
                                   .inputs = {2, 2},
                                   .outputs = {1, 1},
                                   .parse = parse_legacy_broadcast,
                                   .infer = infer_compare,
                                   .eval = eval};
}  // namespace octet
