// SPDX-License-Identifier: Apache-2.0
// A QFunction of a product's real result becomes the end of the product, as a table of finer codes (docs/numerics.md section 5): its result is
// rounded once, as before, and no reals pass through memory. Moves may stand between.
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/qfunction.h"
#include "ops/quantized/weight_codes.h"
#include "passes/functions.h"
#include "passes/match.h"
#include "passes/moved.h"
#include "passes/pass.h"

namespace octet {
namespace {

bool takes_function(const Graph& graph, const Node& node) {
  if (!node.op->traits->product_epilogue) return false;
  const bool real = attribute_of<&OutputCodesAttributes::output_dtype>(node) == Dtype::f32;
  return real && graph.constant_input(node, kProductMultiplier) != nullptr;
}

// Real multipliers over the finer codes' scale; empty: one is no number.
std::vector<f32> over_scale(std::span<const f32> multipliers, f32 scale) {
  std::vector<f32> result;
  for (const f32 m : multipliers) {
    result.push_back(m / scale);
    if (!std::isfinite(result.back())) return {};
  }
  return result;
}

Node with_function(Graph& graph, const Node& product, const Node& function, const FineTable& table,
                   const std::vector<f32>& multipliers) {
  Node fused = product;
  if (fused.inputs.size() <= kProductTable) fused.inputs.resize(kProductTable + 1, kNoValue);
  fused.inputs[kProductTable] = graph.add_constant(function.name + ".segments", table.segments);
  fused.inputs[kProductMultiplier] =
      graph.add_constant(product.name + ".fine_multiplier",
                         Tensor::of<f32>(Shape{std::ssize(multipliers)}, multipliers));
  if (bound_of(product).is_clamp()) erase_attributes<ActivationAttributes>(fused.attrs);
  if (product.input(kProductResidual) != kNoValue) {
    const f32 residual = attribute_of<&EpilogueAttributes::residual_multiplier>(product);
    set_attribute<&EpilogueAttributes::residual_multiplier>(fused.attrs, residual / table.scale);
  }
  copy_attributes<OutputCodesAttributes>(function.attrs, fused.attrs);
  set_attribute<&EpilogueAttributes::fine_zero_point>(fused.attrs, table.zero_point);
  std::string& reason = fused.decision.reason;
  if (const size_t at = reason.find(kStaysReal); at != std::string::npos)
    reason.erase(at, kStaysReal.size());
  reason += "; " + std::string(function_of(function).op->name) + " of finer codes";
  return fused;
}

}  // namespace

void fuse_function(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  WeightCodes once;
  WeightCodes& codes = rewrites.weight_codes() != nullptr ? *rewrites.weight_codes() : once;
  for (Node& node : graph.nodes) {
    if (node.op->traits->function_of_reals == nullptr) continue;
    const std::optional<MovedSource> source =
        moved_source(graph, uses, node.inputs[0], takes_function);
    if (!source) continue;
    const Epilogue output = epilogue_of(node);
    const FineTable table =
        codes.function(function_of(node), bound_of(*source->node),
                       {output.output_dtype, {function_scale(node), output.range.zero_point}});
    if (!table.reject.empty()) {
      node.decision.reason += "; not of finer codes: " + table.reject;
      continue;
    }
    const Tensor& real = *graph.constant_input(*source->node, kProductMultiplier);
    const std::vector<f32> multipliers = over_scale(real.as<f32>(), table.scale);
    const f32 residual = attribute_of<&EpilogueAttributes::residual_multiplier>(*source->node);
    if (multipliers.empty() || !std::isfinite(residual / table.scale) || !rewrites.allow())
      continue;
    replace_behind_moves(graph, *source,
                         with_function(graph, *source->node, node, table, multipliers), node);
  }
}

}  // namespace octet
