// SPDX-License-Identifier: Apache-2.0
// Elementwise a / b with broadcasting; integers are truncated towards zero.
#include <type_traits>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/shared/divisor.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    // Both cases trap on x86; ONNX leaves them open. x / 0 is 0, and lowest / -1 wraps to itself.
    if (b == 0) return T{0};
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrapping_sub<T>(0, a);
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}

void parse(NodeParser& parser) {
  check_constant_divisor(parser);
  parse_legacy_broadcast(parser);
}

void eval(const Eval& eval) {
  eval_binary(eval, [](auto a, auto b) { return quotient(a, b); });
}

constexpr OpTraits kTraits{.elementwise = true};

}  // namespace

extern constinit const OpDef kDiv{.name = "Div",
                                  .inputs = {2, 2},
                                  .parse = parse,
                                  .infer = infer_numeric_broadcast,
                                  .eval = eval,
                                  .traits = &kTraits};
}  // namespace octet
