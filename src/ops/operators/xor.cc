// SPDX-License-Identifier: Apache-2.0
// Elementwise logical exclusive or with broadcasting.
#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_logic(eval, [](bool a, bool b) { return a != b; });
}

}  // namespace

extern constinit const OpDef kXor{.name = "Xor",
                                  .domain = "",
                                  .inputs = {2, 2},
                                  .outputs = {1, 1},
                                  .parse = parse_legacy_broadcast,
                                  .infer = infer_logic,
                                  .eval = eval};
}  // namespace octet
