// SPDX-License-Identifier: Apache-2.0
// Elementwise remainder: with fmod=0 its sign is the divisor's (Python's %), with fmod=1 the dividend's (C's fmod).
#include <cmath>
#include <type_traits>

#include "graph/op_def.h"
#include "ops/attributes/functions.h"
#include "ops/shared/divisor.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

template <class T>
T truncated(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    // Division by 0 traps on x86, and so does lowest % -1; both remainders are defined as 0 here.
    if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T{0};
    return static_cast<T>(a % b);
  }
}

template <class T>
T floored(T a, T b) {
  const T r = truncated(a, b);
  return r != 0 && (r < 0) != (b < 0) ? wrapping_add(r, b) : r;
}

void parse(NodeParser& parser) { check_constant_divisor(parser); }

void eval(const Eval& eval) {
  if (attribute_of<&ModAttributes::fmod>(eval.node)) {
    eval_binary(eval, [](auto a, auto b) { return truncated(a, b); });
  } else {
    eval_binary(eval, [](auto a, auto b) { return floored(a, b); });
  }
}

}  // namespace

extern constinit const OpDef kMod{.name = "Mod",
                                  .inputs = {2, 2},
                                  .parse = parse,
                                  .infer = infer_numeric_broadcast,
                                  .eval = eval};
}  // namespace octet
