// SPDX-License-Identifier: Apache-2.0
// Elementwise negation.
#include <type_traits>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

template <class T>
T negated(T x) {
  if constexpr (std::is_floating_point_v<T>) return -x;
  return wrapping_sub<T>(0, x);
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::signed_number);
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  eval_unary(eval, [](auto x) { return negated(x); });
}

constexpr OpTraits kTraits{.elementwise = true};

}  // namespace

extern constinit const OpDef kNeg{
    .name = "Neg", .parse = drop_consumed_inputs, .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
