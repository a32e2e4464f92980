// SPDX-License-Identifier: Apache-2.0
// Elementwise -1, 0 or 1.
#include <type_traits>

#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

template <class T>
T sign_of(T x) {
  if constexpr (std::is_unsigned_v<T>) return x > 0 ? T{1} : T{0};
  if (x > 0) return T{1};
  if (x < 0) return static_cast<T>(-1);
  return x;  // zero and NaN stay
}

void eval(const Eval& eval) {
  eval_unary(eval, [](auto x) { return sign_of(x); });
}

}  // namespace

extern constinit const OpDef kSign{.name = "Sign", .infer = infer_numeric, .eval = eval};
}  // namespace octet
