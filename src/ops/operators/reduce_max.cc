// SPDX-License-Identifier: Apache-2.0
// ReduceMax: the largest element; NaN wins. Bools: any.
#include <limits>

#include "graph/op_def.h"
#include "ops/shared/reduction.h"

namespace octet {
namespace {

// What an empty row yields.
template <class W>
W neutral() {
  if constexpr (std::is_floating_point_v<W>) return -std::numeric_limits<W>::infinity();
  return std::numeric_limits<W>::lowest();
}

void eval(const Eval& eval) {
  visit_dtype(eval.outputs[0].dtype, [&]<class T>() {
    using W = Wide<T>;
    reduce_rows<T>(eval, [](std::span<const T> row) {
      W extreme = neutral<W>();
      for (const T x : row) extreme = larger(extreme, static_cast<W>(x));
      return extreme;
    });
  });
}

}  // namespace

extern constinit const OpDef kReduceMax{.name = "ReduceMax",
                                        .domain = "",
                                        .inputs = {1, 2},
                                        .outputs = {1, 1},
                                        .parse = parse_reduction,
                                        .infer = infer_any_reduction,
                                        .eval = eval};
}  // namespace octet
