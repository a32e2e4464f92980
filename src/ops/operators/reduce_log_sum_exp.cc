// SPDX-License-Identifier: Apache-2.0
// ReduceLogSumExp: the logarithm of the sum of exponentials, computed below the largest element.
#include <cmath>
#include <limits>

#include "graph/op_def.h"
#include "ops/shared/real_math.h"
#include "ops/shared/reduction.h"

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

extern constinit const OpDef kReduceLogSumExp{.name = "ReduceLogSumExp",
                                              .domain = "",
                                              .inputs = {1, 2},
                                              .outputs = {1, 1},
                                              .parse = parse_reduction,
                                              .infer = infer_real_reduction,
                                              .eval = eval};
}  // namespace octet
