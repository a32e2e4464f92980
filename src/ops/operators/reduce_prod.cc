// SPDX-License-Identifier: Apache-2.0
// ReduceProd: the product of the elements, one after another.
#include "graph/op_def.h"
#include "ops/shared/reduction.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    Wide<T> product{1};
    for (const T x : row) product = wrapping_mul(product, static_cast<Wide<T>>(x));
    return product;
  });
}

}  // namespace

extern constinit const OpDef kReduceProd{.name = "ReduceProd",
                                         .domain = "",
                                         .inputs = {1, 2},
                                         .outputs = {1, 1},
                                         .parse = parse_reduction,
                                         .infer = infer_reduction,
                                         .eval = eval};
}  // namespace octet
