// SPDX-License-Identifier: Apache-2.0
// A model whose weights alone are codes behind DequantizeLinear, its activations being real, has the real values of the weights instead: its
// products then get codes as those of any model do, and passes fold into weights what they fold. Where activations are codes too, the pairs
// of Q and DQ are the model's own word on every layer, and stay. Runs when what is computed of constants is one.
#include "passes/real_weights.h"

#include <algorithm>
#include <vector>

#include "graph/bodies.h"
#include "graph/op_traits.h"
#include "ops/shared/control_flow.h"
#include "passes/pass.h"

namespace octet {

void fold_constants(Graph& graph, Rewrites& rewrites);
void fold_dequantize(Graph& graph, Rewrites& rewrites);

namespace {

// Which values are data; at first those that are no node's result.
using IsData = std::vector<bool>;

// Of a body: all that it is given, save captured constants.
IsData data_inside(const Graph& body, const Node& node, const IsData& outer) {
  IsData inner(body.value_count(), false);
  const size_t captures = node.inputs.size() - first_capture(node);
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const size_t left = body.inputs.size() - i;  // captures come last
    inner[body.inputs[i]] = left > captures || outer[node.inputs[node.inputs.size() - left]];
  }
  return inner;
}

bool has_coded_data(const Graph& graph, IsData data) {
  for (const Node& node : graph.nodes) {
    const auto is_data = [&](ValueId id) { return id != kNoValue && data[id]; };
    // Who reads nothing makes numbers of chance.
    const bool depends = node.inputs.empty() || std::ranges::any_of(node.inputs, is_data);
    if (depends && node.op->traits->codes != CodeMeaning::unknown) return true;
    for (const ValueId id : node.outputs) {
      if (id != kNoValue) data[id] = depends;
    }
    for (const NamedBody& body : bodies_of(node)) {
      if (has_coded_data(*body.graph, data_inside(*body.graph, node, data))) return true;
    }
  }
  return false;
}

}  // namespace

bool has_coded_activations(const Graph& graph) {
  // A model without inputs computes on its constants.
  IsData data(graph.value_count(), graph.inputs.empty());
  for (const ValueId id : graph.inputs) data[id] = true;
  return has_coded_data(graph, std::move(data));
}

void real_weights(Graph& graph, Rewrites& rewrites) {
  if (std::ranges::none_of(graph.nodes, is_dequantize) || has_coded_activations(graph)) return;
  const s64 before = rewrites.count();
  fold_dequantize(graph, rewrites);
  if (rewrites.count() > before) fold_constants(graph, rewrites);
}

}  // namespace octet
