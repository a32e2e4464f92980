// SPDX-License-Identifier: Apache-2.0
// Infers the type of every value and replaces values that do not depend on input data by constants. Constant
// DequantizeLinear nodes stay: Q/DQ fusion needs the codes behind them. What depends on a dynamic size is left to the
// planner, which knows it, also where both samples agree: 'is the batch 1?' is false for both.
#include <algorithm>
#include <cstring>

#include "graph/op_traits.h"
#include "passes/infer_types.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// Weights computed in the graph (transposed, reshaped, cast) are folded up to this size.
constexpr s64 kFoldBytes = s64{256} << 20;

bool same_data(const Tensor& a, const Tensor& b) {
  return a && b && a.type() == b.type() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// The result is one for both samples, and not by chance: inputs that differ are at most those of which the node picks
// elements (the channels out of a shape).
bool is_constant(const Node& node, const SampledTypes& types) {
  const auto same = [&](ValueId id) {
    if (id == kNoValue) return true;
    const Tensor& first = types.first.known[id];
    return same_data(first, types.second.known[id]) &&
           std::ranges::all_of(types.far, [&](const Propagated& far) {
             return !far.known[id] || same_data(first, far.known[id]);
           });
  };
  if (!std::ranges::all_of(node.outputs, same)) return false;
  if (is_op(node, "Shape")) return true;
  const bool moves = node.op->quant.kind == QuantKind::move_codes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int moved = node.op->quant.moved_input;
    if (moves && (moved < 0 || i == static_cast<size_t>(moved))) continue;
    if (!same(node.inputs[i])) return false;
  }
  return true;
}

}  // namespace

void fold_constants(Graph& graph, Rewrites& rewrites) {
  const SampledTypes types = infer_types(
      graph, {.fold_bytes = kFoldBytes, .keep_dequantize = true, .budget = rewrites.folding()});
  std::vector<u32> folded;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_constant(node, types) || !rewrites.allow()) continue;
    for (ValueId id : node.outputs) {
      if (id != kNoValue) graph.value(id).constant = types.first.known[id];
    }
    folded.push_back(n);
  }
  erase_nodes(graph, folded);
}

void fold_dequantize(Graph& graph, Rewrites& rewrites) {
  const auto known = [&](ValueId id) { return id == kNoValue || graph.is_constant(id); };
  std::vector<u32> folded;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_dequantize(node) || !std::ranges::all_of(node.inputs, known)) continue;
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
