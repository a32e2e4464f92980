// SPDX-License-Identifier: Apache-2.0
// ReduceMin: the smallest element; NaN wins. Bools: all.
#include <limits>

#include "ops/shared/forms.h"

namespace octet {
namespace {

// What an empty row yields.
template <class W>
W neutral() {
  if constexpr (std::is_floating_point_v<W>) return std::numeric_limits<W>::infinity();
  return std::numeric_limits<W>::max();
}

void eval(const Eval& eval) {
  visit_dtype(eval.outputs[0].dtype, [&]<class T>() {
    using W = Wide<T>;
    reduce_rows<T>(eval, [](std::span<const T> row) {
      W extreme = neutral<W>();
      for (const T x : row) extreme = smaller(extreme, static_cast<W>(x));
      return extreme;
    });
  });
}

}  // namespace

extern constinit const OpDef kReduceMin = reduction("ReduceMin", infer_any_reduction, eval);
}  // namespace octet
