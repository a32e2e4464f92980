// SPDX-License-Identifier: Apache-2.0
// Where(IsNaN(x), 0, x), which exporters put behind the Softmax of attention for queries that a mask hides from every key, is nothing to a
// QuantizeLinear: it writes the code of 0 for NaN (docs/numerics.md, section 2).
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

// Small floats have a NaN of their own.
bool writes_zero_for_nan(const Graph& graph, const Node& quantize) {
  return code_type(graph, quantize).has_value();
}

// The test of such a guard, or null.
const Node* guard_of(Graph& graph, const Uses& uses, const Node& where) {
  if (!is_op(where, "Where") || scalar_constant(graph, where.inputs[1]) != 0.0f) return nullptr;
  const auto shape = [&](ValueId id) { return graph.value(id).type.shape; };
  if (shape(where.outputs[0]) != shape(where.inputs[2])) return nullptr;  // a zero of more axes
  const Node* test = producer_of(graph, uses, where.inputs[0]);
  const bool guards =
      test != nullptr && is_op(*test, "IsNaN") && test->inputs[0] == where.inputs[2];
  return guards ? test : nullptr;
}

}  // namespace

void drop_nan_guard(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& quantize : graph.nodes) {
    if (!is_quantize(quantize) || !writes_zero_for_nan(graph, quantize)) continue;
    const Node* where = producer_of(graph, uses, quantize.inputs[0]);
    const Node* test = where == nullptr ? nullptr : guard_of(graph, uses, *where);
    if (test == nullptr || !rewrites.allow()) continue;
    if (only_reader(graph, uses, quantize.inputs[0]) != nullptr) {
      prepend_origins(quantize, *where);
      prepend_origins(quantize, *test);
    }
    quantize.inputs[0] = where->inputs[2];
  }
}

}  // namespace octet
