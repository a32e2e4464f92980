// SPDX-License-Identifier: Apache-2.0
// ArgMax(x): the index of the largest element along an axis.
#include "graph/op_def.h"
#include "ops/shared/arg_extreme.h"

namespace octet {
namespace {

void eval(const Eval& eval) { eval_arg_extreme(eval, true); }

}  // namespace

extern constinit const OpDef kArgMax{.name = "ArgMax", .infer = infer_arg_extreme, .eval = eval};
}  // namespace octet
