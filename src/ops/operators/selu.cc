// SPDX-License-Identifier: Apache-2.0
// gamma * Elu(x, alpha).
#include <cmath>

#include "core/math.h"
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&SeluAttributes::alpha>(node);
  const f64 gamma = attribute_of<&SeluAttributes::gamma>(node);
  return gamma * (x > 0.0 ? x : alpha * std::expm1(x));
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&SeluAttributes::alpha>(eval.node);
  const f32 gamma = attribute_of<&SeluAttributes::gamma>(eval.node);
  eval_elementwise(eval,
                   [&](f32 x) { return gamma * (x > 0.0f ? x : alpha * (math_exp(x) - 1.0f)); });
}

}  // namespace

extern constinit const OpDef kSelu = float_function<real>("Selu", eval);
}  // namespace octet
