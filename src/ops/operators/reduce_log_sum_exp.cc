// SPDX-License-Identifier: Apache-2.0
// ReduceLogSumExp: the logarithm of the sum of exponentials, computed below the largest element.
#include <cmath>
#include <limits>

#include "ops/shared/forms.h"
#include "ops/shared/real_math.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_real_reduction(eval, []<class T>(std::span<const T> row) {
    using W = Wide<T>;
    W top = -std::numeric_limits<W>::infinity();
    for (const T x : row) top = larger(top, static_cast<W>(x));
    if (!std::isfinite(top)) return top;  // empty, or all is infinite or NaN
    const W sum = row_sum<T>(row, [&](W x) { return exponential(x - top); });
    return natural_log(sum) + top;
  });
}

}  // namespace

extern constinit const OpDef kReduceLogSumExp =
    reduction("ReduceLogSumExp", infer_real_reduction, eval);
}  // namespace octet
