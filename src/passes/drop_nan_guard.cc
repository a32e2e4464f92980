// SPDX-License-Identifier: Apache-2.0
// Where(IsNaN(x), 0, x), which exporters put behind the Softmax of attention for queries that a mask hides from every key, is nothing to a
// QuantizeLinear whose lowest code stands for 0: it writes that code for NaN (docs/numerics.md, section 2).
#include <limits>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

bool writes_zero_for_nan(const Graph& graph, const Node& quantize) {
  const std::optional<CodeType> type = code_type(graph, quantize);
  if (!type) return false;
  const s32 lowest = type->dtype == Dtype::u8 ? 0 : std::numeric_limits<s8>::lowest();
  return type->params.zero_point == lowest;
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
