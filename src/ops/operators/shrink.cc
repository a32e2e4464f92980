// SPDX-License-Identifier: Apache-2.0
// Shrink: x + bias below -lambd, x - bias above lambd, 0 between.
#include "ops/attributes/functions.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  attributes_of<ShrinkAttributes>(inference.node);
  infer_real(inference);
}

void eval(const Eval& eval) {
  const auto attributes = attributes_of<ShrinkAttributes>(eval.node);
  const f32 bias = attributes.bias, lambd = attributes.lambd;
  eval_unary_real(eval, [&]<class T>(T x) {
    if (x < static_cast<T>(-lambd)) return x + static_cast<T>(bias);
    return x > static_cast<T>(lambd) ? x - static_cast<T>(bias) : T{0};
  });
}

}  // namespace

extern constinit const OpDef kShrink{.name = "Shrink", .infer = infer, .eval = eval};
}  // namespace octet
