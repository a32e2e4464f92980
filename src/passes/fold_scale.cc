// SPDX-License-Identifier: Apache-2.0
// A product with a real result that is then multiplied or divided by a power of two takes that into its multiplier: no rounding changes. One
// of two activations (the scores of attention, by the root of a head's size) takes any positive number: its multiplier is rounded once
// instead of each score.
#include <algorithm>
#include <cmath>

#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// What the node multiplies its input 0 (or, of a Mul, the other) by, when it is one positive number; else 0.
f64 factor_of(const Graph& graph, const Node& node, size_t& input) {
  const bool divides = is_op(node, "Div");
  if ((!divides && !is_op(node, "Mul")) || has_activation(node)) return 0;
  input = !divides && graph.is_constant(node.inputs[0]) ? 1 : 0;
  const std::optional<f32> factor = scalar_constant(graph, node.inputs[1 - input]);
  if (!factor || !(*factor > 0.0f) || !std::isfinite(*factor)) return 0;
  int exponent = 0;
  std::frexp(*factor, &exponent);
  if (std::abs(exponent) > 32) return 0;
  return divides ? 1 / f64{*factor} : f64{*factor};
}

bool is_power_of_two(f64 factor) {
  int exponent = 0;
  return std::frexp(factor, &exponent) == 0.5;
}

bool takes_factor(const Graph& graph, const Node& product) {
  if (!product.op->traits->product_epilogue) return false;
  if (attribute_of<&OutputCodesAttributes::output_dtype>(product) != Dtype::f32) return false;
  return !has_activation(product) && product.input(kProductResidual) == kNoValue &&
         graph.is_constant(product.input(kProductMultiplier));
}

// So far from the ends of f32 that no product with a sum is cut.
bool has_room(const Tensor& multipliers) {
  return std::ranges::all_of(multipliers.as<f32>(), [](f32 m) {
    return std::fabs(m) > 0x1p-80f && std::fabs(m) < 0x1p60f;
  });
}

}  // namespace

void fold_scale(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& node : graph.nodes) {
    size_t input = 0;
    const f64 factor = factor_of(graph, node, input);
    if (factor == 0) continue;
    const ValueId real = node.inputs[input];
    const Node* product = producer_of(graph, uses, real);
    if (product == nullptr || !takes_factor(graph, *product)) continue;
    const bool of_activations = !graph.is_constant(product->input(kProductWeights));
    if (!of_activations && !is_power_of_two(factor)) continue;
    if (only_reader(graph, uses, real) == nullptr) continue;
    if (graph.value(real).type.shape != graph.value(node.outputs[0]).type.shape) continue;
    const Tensor& multiplier = graph.value(product->inputs[kProductMultiplier]).constant;
    if (!has_room(multiplier) || !rewrites.allow()) continue;
    Tensor scaled = multiplier.clone();
    for (f32& m : scaled.mutable_as<f32>()) m = static_cast<f32>(f64{m} * factor);
    Node fused = *product;
    fused.inputs[kProductMultiplier] =
        graph.add_constant(node.name + ".multiplier", std::move(scaled));
    replace_fused(node, std::move(fused), *product);
  }
}

}  // namespace octet
