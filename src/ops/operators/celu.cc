// SPDX-License-Identifier: Apache-2.0
// max(0, x) + min(0, alpha * (e^(x / alpha) - 1)); NaN passes.
#include <algorithm>
#include <cmath>

#include "core/math.h"
#include "graph/op_traits.h"
#include "ops/attributes/functions.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&AlphaAttributes::alpha>(node);
  return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha));
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&AlphaAttributes::alpha>(eval.node);
  eval_elementwise(eval, [&](f32 x) {
    const f32 below = alpha * (math_exp(x / alpha) - 1.0f);
    return (x < 0.0f ? 0.0f : x) + (below > 0.0f ? 0.0f : below);
  });
}

constexpr FloatAttribute kFloats[] = {{"alpha", FloatDomain::nonzero}};
constexpr OpTraits kTraits{.floats = kFloats};

}  // namespace

extern constinit const OpDef kCelu = float_function<real>("Celu", eval, &kTraits);
}  // namespace octet
