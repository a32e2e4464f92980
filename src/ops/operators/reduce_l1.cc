// SPDX-License-Identifier: Apache-2.0
// ReduceL1: the sum of absolute values.
#include "ops/shared/forms.h"

namespace octet {
namespace {

template <class T>
T magnitude(T x) {
  return x < 0 ? wrapping_sub(T{0}, x) : x;
}

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    return row_sum<T>(row, [](auto x) { return magnitude(x); });
  });
}

}  // namespace

extern constinit const OpDef kReduceL1 = reduction("ReduceL1", infer_reduction, eval);
}  // namespace octet
