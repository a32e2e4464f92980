// SPDX-License-Identifier: Apache-2.0
// x where x > alpha, else 0.
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&AlphaAttributes::alpha>(node);
  return x > alpha ? x : 0.0;
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&AlphaAttributes::alpha>(eval.node);
  eval_elementwise(eval, [&](f32 x) { return x > alpha ? x : 0.0f; });
}

}  // namespace

extern constinit const OpDef kThresholdedRelu = float_function<real>("ThresholdedRelu", eval);
}  // namespace octet
