// SPDX-License-Identifier: Apache-2.0
// Infers the type of every value and replaces values that do not depend on input data by constants. Constant
// DequantizeLinear nodes stay: Q/DQ fusion needs the codes behind them.
#include <cstring>

#include "graph/op_def.h"
#include "passes/infer_types.h"
#include "passes/pass.h"

namespace octet {
namespace {

// Weights computed in the graph (transposed, reshaped, cast) are folded up to this size.
constexpr s64 kFoldBytes = s64{256} << 20;

bool same_data(const Tensor& a, const Tensor& b) {
  return a && b && a.type() == b.type() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace

void fold_constants(Graph& graph, Rewrites& rewrites) {
  const SampledTypes types =
      infer_types(graph, {.fold_bytes = kFoldBytes, .keep_dequantize = true});
  std::vector<u32> folded;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    bool all = true;
    for (ValueId id : node.outputs) {
      all = all && (id == kNoValue || same_data(types.first.known[id], types.second.known[id]));
    }
    if (!all || !rewrites.allow()) continue;
    for (ValueId id : node.outputs) {
      if (id != kNoValue) graph.value(id).constant = types.first.known[id];
    }
    folded.push_back(n);
  }
  erase_nodes(graph, folded);
}

void fold_dequantize(Graph& graph, Rewrites& rewrites) {
  std::vector<u32> folded;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op->name != "DequantizeLinear" || !graph.is_constant(node.inputs[0])) continue;
    if (!rewrites.allow()) break;
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) {
      inputs.push_back(id == kNoValue ? Tensor() : graph.value(id).constant);
    }
    graph.value(node.outputs[0]).constant = eval_node(node, inputs)[0];
    folded.push_back(n);
  }
  erase_nodes(graph, folded);
}

}  // namespace octet
