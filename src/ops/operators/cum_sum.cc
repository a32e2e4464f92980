// SPDX-License-Identifier: Apache-2.0
// CumSum(x, axis) {exclusive, reverse}: running sums along one axis.
#include "ops/shared/cumulative.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_cumulative(eval, 0, [](auto so_far, auto x) { return wrapping_add(so_far, x); });
}

}  // namespace

extern constinit const OpDef kCumSum{
    .name = "CumSum", .inputs = {2, 2}, .infer = infer_cumulative, .eval = eval};
}  // namespace octet
