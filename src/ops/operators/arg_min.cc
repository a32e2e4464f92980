// SPDX-License-Identifier: Apache-2.0
// ArgMin(x): the index of the smallest element along an axis.
#include "graph/op_def.h"
#include "ops/shared/arg_extreme.h"

namespace octet {
namespace {

void eval(const Eval& eval) { eval_arg_extreme(eval, false); }

}  // namespace

extern constinit const OpDef kArgMin{.name = "ArgMin", .infer = infer_arg_extreme, .eval = eval};
}  // namespace octet
