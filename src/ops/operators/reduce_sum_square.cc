// SPDX-License-Identifier: Apache-2.0
// ReduceSumSquare: the sum of squares.
#include "graph/op_def.h"
#include "ops/shared/reduction.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    return row_sum<T>(row, [](auto x) { return wrapping_mul(x, x); });
  });
}

}  // namespace

extern constinit const OpDef kReduceSumSquare{.name = "ReduceSumSquare",
                                              .domain = "",
                                              .inputs = {1, 2},
                                              .outputs = {1, 1},
                                              .parse = parse_reduction,
                                              .infer = infer_reduction,
                                              .eval = eval};
}  // namespace octet
