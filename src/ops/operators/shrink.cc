// SPDX-License-Identifier: Apache-2.0
// Shrink: x + bias below -lambd, x - bias above lambd, 0 between.
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  for (const char* name : {"bias", "lambd"}) inference.node.attrs.f(name, 0.0f);
  infer_real(inference);
}

void eval(const Eval& eval) {
  const f32 bias = eval.node.attrs.f("bias", 0.0f);
  const f32 lambd = eval.node.attrs.f("lambd", 0.5f);
  eval_unary_real(eval, [&]<class T>(T x) {
    if (x < static_cast<T>(-lambd)) return x + static_cast<T>(bias);
    return x > static_cast<T>(lambd) ? x - static_cast<T>(bias) : T{0};
  });
}

}  // namespace

extern constinit const OpDef kShrink{.name = "Shrink",
                                     .domain = "",
                                     .inputs = {1, 1},
                                     .outputs = {1, 1},
                                     .infer = infer,
                                     .eval = eval};
}  // namespace octet
