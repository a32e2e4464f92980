// SPDX-License-Identifier: Apache-2.0
// ReduceL2: the square root of the sum of squares.
#include <cmath>

#include "graph/op_def.h"
#include "ops/reduction.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    const Wide<T> squares = row_sum<T>(row, [](auto x) { return wrapping_mul(x, x); });
    return static_cast<Wide<T>>(std::sqrt(squares));
  });
}

}  // namespace

extern constinit const OpDef kReduceL2{.name = "ReduceL2",
                                       .domain = "",
                                       .inputs = {1, 2},
                                       .outputs = {1, 1},
                                       .parse = parse_reduction,
                                       .infer = infer_reduction,
                                       .eval = eval};
}  // namespace octet
