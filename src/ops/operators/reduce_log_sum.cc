// SPDX-License-Identifier: Apache-2.0
// ReduceLogSum: the logarithm of the sum.
#include "ops/shared/forms.h"
#include "ops/shared/real_math.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_real_reduction(eval, []<class T>(std::span<const T> row) {
    return natural_log(row_sum<T>(row, [](auto x) { return x; }));
  });
}

}  // namespace

extern constinit const OpDef kReduceLogSum = reduction("ReduceLogSum", infer_real_reduction, eval);
}  // namespace octet
