// SPDX-License-Identifier: Apache-2.0
// Relu, Clip with constant bounds and LeakyRelu become the `activation` of the Conv, MatMul or Add before them.
#include <algorithm>
#include <limits>
#include <optional>

#include "ops/attributes/activation.h"
#include "ops/attributes/functions.h"
#include "ops/shared/activation.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();

// A second clamp joins the first.
bool takes_activation(const Node& node) {
  if (!node.op->traits->takes_activation) return false;
  const Activation activation = activation_of(node);
  return activation.kind == Activation::Kind::none || activation.is_clamp();
}

// clip(clip(x, a, b), c, d) has the ends of the first, clipped by the second.
void set_bounds(const Activation& before, f32 low, f32 high, Attrs& attrs) {
  set_attribute<&ActivationAttributes::activation>(attrs, Activation::Kind::clip);
  set_attribute<&ActivationAttributes::activation_min>(attrs, std::clamp(before.min, low, high));
  set_attribute<&ActivationAttributes::activation_max>(attrs, std::clamp(before.max, low, high));
}

bool set_clip(const Graph& graph, const Node& clip, const Activation& before, Attrs& attrs) {
  f32 bounds[2] = {-kInfinity, kInfinity};
  for (size_t i = 0; i < 2; ++i) {
    if (clip.input(i + 1) == kNoValue) continue;
    const std::optional<f32> bound = scalar_constant(graph, clip.inputs[i + 1]);
    if (!bound) return false;
    bounds[i] = *bound;
  }
  if (!(bounds[0] <= bounds[1])) return false;
  set_bounds(before, bounds[0], bounds[1], attrs);
  return true;
}

// Writes the activation's attributes; false when the node is none that can be fused.
bool set_activation(const Graph& graph, const Node& node, const Activation& before, Attrs& attrs) {
  const bool first = before.kind == Activation::Kind::none;
  if (is_op(node, "Relu")) {
    if (!first) set_bounds(before, 0.0f, kInfinity, attrs);
    if (first) set_attribute<&ActivationAttributes::activation>(attrs, Activation::Kind::relu);
    return true;
  }
  if (is_op(node, "LeakyRelu")) {
    set_attribute<&ActivationAttributes::activation>(attrs, Activation::Kind::leaky_relu);
    set_attribute<&ActivationAttributes::activation_alpha>(
        attrs, attribute_of<&LeakyReluAttributes::alpha>(node));
    return first;
  }
  return is_op(node, "Clip") && set_clip(graph, node, before, attrs);
}

}  // namespace

void fuse_activation(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    const Node* before = producer_of(graph, uses, node.inputs[0]);
    if (before == nullptr || !takes_activation(*before)) continue;
    if (only_reader(graph, uses, node.inputs[0]) == nullptr) continue;
    Node fused = *before;
    if (!set_activation(graph, node, activation_of(*before), fused.attrs)) continue;
    if (is_op(fused, "Add") && activation_of(fused).kind == Activation::Kind::leaky_relu) continue;
    if (graph.value(node.outputs[0]).type.dtype != Dtype::f32 || !rewrites.allow()) continue;
    replace_fused(node, std::move(fused), *before);
  }
}

}  // namespace octet
