// SPDX-License-Identifier: Apache-2.0
// Exporters ask values on their way through a network for its dynamic sizes. What reads sizes alone is no reader to fusions if it asks
// somebody else: shape_of_first makes Shape read the first value of the same sizes, and shape_of_codes the codes in place of the reals
// that they are made of, or that are made of them. Runs when types are known: dimensions of one number are equal (passes/infer_types.h).
#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "graph/op_traits.h"
#include "passes/elementwise.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// Whether equal dimensions say that the sizes are equal.
bool is_comparable(const Shape& shape) { return are_equal_sizes(shape, shape); }

class FirstOfShape {
 public:
  FirstOfShape(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {
    for (const ValueId id : graph.inputs) add(id);
  }

  // Later values of a known shape are none. Nor is a result that has one reader: that may take it in, which a second one would forbid.
  void add(ValueId id) {
    if (id == kNoValue) return;
    if (uses_.producer(id) >= 0 && uses_.only_consumer(id) >= 0) return;
    const Shape& shape = graph_.value(id).type.shape;
    if (is_comparable(shape)) first_.try_emplace(dims_of(shape), id);
  }

  // The value itself where it is the first, or its sizes say nothing.
  ValueId of(ValueId id) const {
    const Shape& shape = graph_.value(id).type.shape;
    if (!is_comparable(shape)) return id;
    const auto at = first_.find(dims_of(shape));
    return at == first_.end() ? id : at->second;
  }

 private:
  static std::vector<s64> dims_of(const Shape& shape) {
    return {shape.dims().begin(), shape.dims().end()};
  }

  const Graph& graph_;
  const Uses& uses_;
  std::map<std::vector<s64>, ValueId> first_;
};

bool asks_sizes(const Graph& graph, const Node& node) {
  return node.op->traits->reads_types_only && node.inputs.size() == 1 &&
         node.inputs[0] != kNoValue && !graph.is_constant(node.inputs[0]);
}

// Where the same sizes are codes: of a DequantizeLinear what it reads, of reals what a QuantizeLinear makes of them.
ValueId codes_beside(Graph& graph, const Uses& uses, ValueId id) {
  const Node* before = producer_of(graph, uses, id);
  if (before != nullptr && is_dequantize(*before) && !graph.is_constant(before->inputs[0]))
    return before->inputs[0];
  for (const u32 reader : uses.consumers(id)) {
    const Node& node = graph.nodes[reader];
    if (is_quantize(node) && node.inputs[0] == id) return node.outputs[0];
  }
  return id;
}

}  // namespace

void shape_of_first(Graph& graph, Rewrites& rewrites) {
  FirstOfShape first(graph, rewrites.uses(graph));
  for (Node& node : graph.nodes) {
    if (asks_sizes(graph, node)) {
      const ValueId id = first.of(node.inputs[0]);
      if (id != node.inputs[0] && rewrites.allow()) node.inputs[0] = id;
    }
    for (const ValueId id : node.outputs) first.add(id);
  }
}

void shape_of_codes(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  std::unordered_map<ValueId, ValueId> codes;  // of values that were asked for
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (!asks_sizes(graph, node)) continue;
    const auto [known, is_new] = codes.try_emplace(node.inputs[0], node.inputs[0]);
    if (is_new) known->second = codes_beside(graph, uses, node.inputs[0]);
    const ValueId id = known->second;
    const bool stands_before = uses.producer(id) < static_cast<s32>(n);
    if (id == node.inputs[0] || !stands_before || !rewrites.allow()) continue;
    node.inputs[0] = id;
  }
}

}  // namespace octet
