// SPDX-License-Identifier: Apache-2.0
// Relu, Clip with constant bounds and LeakyRelu become the `activation` of the Conv, MatMul or Add before them.
#include <limits>

#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

bool takes_activation(const Node& node) {
  return node.op->traits->takes_activation && node.attrs.s("activation", "").empty();
}

bool set_clip(const Graph& graph, const Node& clip, Attrs& attrs) {
  const f32 infinity = std::numeric_limits<f32>::infinity();
  f32 bounds[2] = {-infinity, infinity};
  for (size_t i = 0; i < 2; ++i) {
    if (clip.input(i + 1) == kNoValue) continue;
    const std::optional<f32> bound = scalar_constant(graph, clip.inputs[i + 1]);
    if (!bound) return false;
    bounds[i] = *bound;
  }
  if (!(bounds[0] <= bounds[1])) return false;
  attrs.set("activation", std::string("clip"));
  attrs.set("activation_min", bounds[0]);
  attrs.set("activation_max", bounds[1]);
  return true;
}

// Writes the activation's attributes; false when the node is none that can be fused.
bool set_activation(const Graph& graph, const Node& node, Attrs& attrs) {
  if (is_op(node, "Relu")) {
    attrs.set("activation", std::string("relu"));
    return true;
  }
  if (is_op(node, "LeakyRelu")) {
    attrs.set("activation", std::string("leaky_relu"));
    attrs.set("activation_alpha", node.attrs.f("alpha", 0.01f));
    return true;
  }
  return is_op(node, "Clip") && set_clip(graph, node, attrs);
}

}  // namespace

void fuse_activation(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    const Node* before = producer_of(graph, uses, node.inputs[0]);
    if (before == nullptr || !takes_activation(*before)) continue;
    if (only_reader(graph, uses, node.inputs[0]) == nullptr) continue;
    Node fused = *before;
    if (!set_activation(graph, node, fused.attrs)) continue;
    if (is_op(fused, "Add") && fused.attrs.s("activation", "") == "leaky_relu") continue;
    if (graph.value(node.outputs[0]).type.dtype != Dtype::f32 || !rewrites.allow()) continue;
    replace_fused(node, std::move(fused), *before);
  }
}

}  // namespace octet
