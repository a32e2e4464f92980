// SPDX-License-Identifier: Apache-2.0
// ReduceSumSquare: the sum of squares.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    return row_sum<T>(row, [](auto x) { return wrapping_mul(x, x); });
  });
}

}  // namespace

extern constinit const OpDef kReduceSumSquare = reduction("ReduceSumSquare", infer_reduction, eval);
}  // namespace octet
