// SPDX-License-Identifier: Apache-2.0
// max(0, x) + min(0, alpha * (e^(x / alpha) - 1)); NaN passes.
#include <algorithm>
#include <cmath>

#include "core/math.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/functions.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

f64 real(f64 x, const Node& node) {
  const f64 alpha = attribute_of<&AlphaAttributes::alpha>(node);
  return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha));
}

void infer(Inference& inference) {
  real(0.0, inference.node);  // attributes of a wrong kind fail here
  infer_elementwise_float(inference);
}

void eval(const Eval& eval) {
  const f32 alpha = attribute_of<&AlphaAttributes::alpha>(eval.node);
  eval_elementwise(eval, [&](f32 x) {
    const f32 below = alpha * (math_exp(x / alpha) - 1.0f);
    return (x < 0.0f ? 0.0f : x) + (below > 0.0f ? 0.0f : below);
  });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

constexpr FloatAttribute kFloats[] = {{"alpha", FloatDomain::nonzero}};
constexpr OpTraits kTraits{.floats = kFloats};

}  // namespace

extern constinit const OpDef kCelu{.name = "Celu",
                                   .domain = "",
                                   .inputs = {1, 1},
                                   .outputs = {1, 1},
                                   .parse = drop_consumed_inputs,
                                   .infer = infer,
                                   .eval = eval,
                                   .quant = {.kind = QuantKind::table, .quantize = quantize},
                                   .traits = &kTraits};
}  // namespace octet
