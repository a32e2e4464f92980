// SPDX-License-Identifier: Apache-2.0
// A product with a real result that is then multiplied or divided by a power of two (the scores of attention, by the root of
// a head's size) takes that into its multiplier: no rounding changes.
#include <algorithm>
#include <cmath>

#include "ops/quantized/epilogue.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// What the node multiplies its input 0 (or, of a Mul, the other) by, when it is a power of two; else 0.
f32 power_of_two(const Graph& graph, const Node& node, size_t& input) {
  const bool divides = is_op(node, "Div");
  if (!divides && !is_op(node, "Mul")) return 0.0f;
  input = !divides && graph.is_constant(node.inputs[0]) ? 1 : 0;
  const std::optional<f32> factor = scalar_constant(graph, node.inputs[1 - input]);
  int exponent = 0;
  if (!factor || !(*factor > 0.0f) || std::frexp(*factor, &exponent) != 0.5f) return 0.0f;
  if (std::abs(exponent) > 32) return 0.0f;
  return divides ? 1.0f / *factor : *factor;
}

bool takes_factor(const Graph& graph, const Node& product) {
  if (!product.op->traits->product_epilogue) return false;
  if (product.attrs.s("output_dtype", "u8") != "f32") return false;
  return product.attrs.s("activation", "").empty() && product.input(kProductResidual) == kNoValue &&
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
    const f32 factor = power_of_two(graph, node, input);
    if (factor == 0.0f) continue;
    const ValueId real = node.inputs[input];
    const Node* product = producer_of(graph, uses, real);
    if (product == nullptr || !takes_factor(graph, *product)) continue;
    if (only_reader(graph, uses, real) == nullptr) continue;
    if (graph.value(real).type.shape != graph.value(node.outputs[0]).type.shape) continue;
    const Tensor& multiplier = graph.value(product->inputs[kProductMultiplier]).constant;
    if (!has_room(multiplier) || !rewrites.allow()) continue;
    Tensor scaled = multiplier.clone();
    for (f32& m : scaled.mutable_as<f32>()) m *= factor;
    Node fused = *product;
    fused.inputs[kProductMultiplier] =
        graph.add_constant(node.name + ".multiplier", std::move(scaled));
    replace_fused(node, std::move(fused), *product);
  }
}

}  // namespace octet
