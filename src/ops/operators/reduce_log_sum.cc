// SPDX-License-Identifier: Apache-2.0
// ReduceLogSum: the logarithm of the sum.
#include "graph/op_def.h"
#include "ops/shared/real_math.h"
#include "ops/shared/reduction.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_real_reduction(eval, []<class T>(std::span<const T> row) {
    return natural_log(row_sum<T>(row, [](auto x) { return x; }));
  });
}

}  // namespace

extern constinit const OpDef kReduceLogSum{.name = "ReduceLogSum",
                                           .domain = "",
                                           .inputs = {1, 2},
                                           .outputs = {1, 1},
                                           .parse = parse_reduction,
                                           .infer = infer_real_reduction,
                                           .eval = eval};
}  // namespace octet
