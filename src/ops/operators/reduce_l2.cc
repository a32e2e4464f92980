// SPDX-License-Identifier: Apache-2.0
// ReduceL2: the square root of the sum of squares.
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/shared/forms.h"

namespace octet {
namespace {

// Squares of integers pass their type long before the root does, so they are summed in f64.
template <class T>
Wide<T> integer_norm(std::span<const T> row) {
  f64 squares = 0;
  for (const T x : row) squares += static_cast<f64>(x) * static_cast<f64>(x);
  constexpr Wide<T> kMost = std::numeric_limits<Wide<T>>::max();
  const f64 root = std::sqrt(squares);
  return root >= static_cast<f64>(kMost) ? kMost : static_cast<Wide<T>>(root);
}

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    if constexpr (std::is_integral_v<Wide<T>>) {
      return integer_norm<T>(row);
    } else {
      return std::sqrt(row_sum<T>(row, [](auto x) { return x * x; }));
    }
  });
}

}  // namespace

extern constinit const OpDef kReduceL2 = reduction("ReduceL2", infer_reduction, eval);
}  // namespace octet
