// SPDX-License-Identifier: Apache-2.0
// CumProd(x, axis) {exclusive, reverse}: running products along one axis.
#include "ops/shared/cumulative.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_cumulative(eval, 1, [](auto so_far, auto x) { return wrapping_mul(so_far, x); });
}

}  // namespace

extern constinit const OpDef kCumProd{
    .name = "CumProd", .inputs = {2, 2}, .infer = infer_cumulative, .eval = eval};
}  // namespace octet
