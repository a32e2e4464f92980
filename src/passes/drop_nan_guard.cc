// SPDX-License-Identifier: Apache-2.0
// Where(IsNaN(x), 0, x), which exporters put behind the Softmax of attention for queries that a mask hides from every key, is nothing to a
// QuantizeLinear: it writes the code of 0 for NaN (docs/numerics.md, section 2). So it is where some NaN stay (attention_to_products.cc).
#include <algorithm>
#include <cmath>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

// Small floats have a NaN of their own.
bool writes_zero_for_nan(const Graph& graph, const Node& quantize) {
  return code_type(graph, quantize).has_value();
}

bool holds_zero_or_nan(const Graph& graph, ValueId id) {
  if (!graph.is_constant(id) || graph.value(id).type.dtype != Dtype::f32) return false;
  const auto values = graph.value(id).constant.as<f32>();
  return std::ranges::all_of(values, [](f32 x) { return x == 0.0f || std::isnan(x); });
}

// Whatever is chosen of it becomes the code of 0.
bool is_zero_or_nan(Graph& graph, const Uses& uses, ValueId id) {
  if (holds_zero_or_nan(graph, id)) return true;
  const Node* choice = producer_of(graph, uses, id);
  return choice != nullptr && is_op(*choice, "Where") &&
         holds_zero_or_nan(graph, choice->inputs[1]) && holds_zero_or_nan(graph, choice->inputs[2]);
}

// The test of such a guard, or null.
const Node* guard_of(Graph& graph, const Uses& uses, const Node& where) {
  if (!is_op(where, "Where") || !is_zero_or_nan(graph, uses, where.inputs[1])) return nullptr;
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
