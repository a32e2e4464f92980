// SPDX-License-Identifier: Apache-2.0
// Elementwise absolute value.
#include <cmath>
#include <type_traits>

#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

template <class T>
T absolute(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
  if constexpr (std::is_unsigned_v<T>) return x;
  return x < 0 ? wrapping_sub<T>(0, x) : x;  // the lowest integer stays itself
}

void eval(const Eval& eval) {
  eval_unary(eval, [](auto x) { return absolute(x); });
}

}  // namespace

extern constinit const OpDef kAbs{
    .name = "Abs", .parse = drop_consumed_inputs, .infer = infer_numeric, .eval = eval};
}  // namespace octet
