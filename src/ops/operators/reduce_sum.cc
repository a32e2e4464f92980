// SPDX-License-Identifier: Apache-2.0
// ReduceSum: the sum of the elements.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    return row_sum<T>(row, [](auto x) { return x; });
  });
}

}  // namespace

extern constinit const OpDef kReduceSum = reduction("ReduceSum", infer_reduction, eval);
}  // namespace octet
