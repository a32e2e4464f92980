// SPDX-License-Identifier: Apache-2.0
// Elementwise complement of the bits of integers.
#include "ops/shared/bitwise.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_integers(inference);
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  visit_size(eval.outputs[0].dtype, [&]<class U>() {
    const auto* src = static_cast<const U*>(eval.inputs[0].data);
    auto* dst = static_cast<U*>(eval.outputs[0].data);
    const s64 count = eval.outputs[0].shape.elements();
    for (s64 i = 0; i < count; ++i) dst[i] = static_cast<U>(~src[i]);
  });
}

}  // namespace

extern constinit const OpDef kBitwiseNot{.name = "BitwiseNot", .infer = infer, .eval = eval};
}  // namespace octet
