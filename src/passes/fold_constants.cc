// SPDX-License-Identifier: Apache-2.0
// Infers the type of every value and replaces values that do not depend on input data by constants. Constant
// DequantizeLinear nodes stay: Q/DQ fusion needs the codes behind them. What depends on a dynamic size is left to the
// planner, which knows it, also where both samples agree: 'is the batch 1?' is false for both.
#include <algorithm>
#include <cstring>
#include <vector>

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

// Which values do not depend on open sizes. That the samples agree in one does not say so: 'is the batch 1?' is false in all, and what is made of
// that is the same. Sizes themselves, and what picks elements of them (the channels out of a shape), depend on nothing where the samples agree.
class Constants {
 public:
  Constants(const Graph& graph, const SampledTypes& types)
      : graph_(graph), types_(types), of_sizes_(graph.value_count(), false) {}

  // Of nodes in their order; the constants found become the graph's.
  bool is_constant(const Node& node) {
    const bool sizes = node.op->traits->reads_types_only || picks_sizes(node);
    for (const ValueId id : node.outputs) {
      if (id != kNoValue) of_sizes_[id] = sizes;
    }
    const auto constant = [&](ValueId id) { return is_constant(id); };
    return std::ranges::all_of(node.outputs, [&](ValueId id) { return is_same(id); }) &&
           (sizes || std::ranges::all_of(node.inputs, constant));
  }

 private:
  bool is_constant(ValueId id) const { return id == kNoValue || graph_.is_constant(id); }

  bool is_same(ValueId id) const {
    if (id == kNoValue) return true;
    const Tensor& first = types_.first.known[id];
    return same_data(first, types_.second.known[id]) &&
           std::ranges::all_of(types_.far, [&](const Propagated& far) {
             return !far.known[id] || same_data(first, far.known[id]);
           });
  }

  bool picks_sizes(const Node& node) const {
    if (node.op->quant.kind != QuantKind::move_codes && !is_op(node, "Cast")) return false;
    const int moved = node.op->quant.moved_input;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      const bool moves = moved < 0 || i == static_cast<size_t>(moved);
      if (!is_constant(id) && !(moves && of_sizes_[id])) return false;
    }
    return true;
  }

  const Graph& graph_;
  const SampledTypes& types_;
  std::vector<bool> of_sizes_;
};

}  // namespace

void fold_constants(Graph& graph, Rewrites& rewrites) {
  const SampledTypes types = infer_types(
      graph, {.fold_bytes = kFoldBytes, .keep_dequantize = true, .budget = rewrites.folding()});
  Constants constants(graph, types);
  std::vector<u32> folded;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!constants.is_constant(node) || !rewrites.allow()) continue;
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
