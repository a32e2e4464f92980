// SPDX-License-Identifier: Apache-2.0
// x, or alpha * x below zero.
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&LeakyReluAttributes::alpha>(node);
  return x < 0.0 ? alpha * x : x;
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&LeakyReluAttributes::alpha>(eval.node);
  eval_elementwise(eval, [&](f32 x) { return x < 0.0f ? x * alpha : x; });
}

}  // namespace

extern constinit const OpDef kLeakyRelu = float_function<real>("LeakyRelu", eval);
}  // namespace octet
