// SPDX-License-Identifier: Apache-2.0
// The Erf form of GELU, 0.5 * x * (1 + erf(x / sqrt(2))), written in any order of its three products, becomes Gelu.
#include <cmath>
#include <optional>

#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

bool near(std::optional<f32> value, f64 expected) {
  return value && std::fabs(static_cast<f64>(*value) - expected) < 1e-4 * expected;
}

struct Matcher {
  Graph& graph;
  const Uses& uses;

  // The other operand when one of a commutative node's operands is the given constant.
  ValueId operand_beside(const Node& node, f64 constant) const {
    for (size_t side = 0; side < 2; ++side) {
      if (near(scalar_constant(graph, node.inputs[side]), constant)) return node.inputs[1 - side];
    }
    return kNoValue;
  }

  const Node* produced_by(ValueId id, std::string_view op) const {
    const Node* node = producer_of(graph, uses, id);
    return node != nullptr && is_op(*node, op) ? node : nullptr;
  }

  // x when `id` is 1 + erf(x / sqrt(2)).
  ValueId gate_argument(ValueId id) const {
    const Node* add = produced_by(id, "Add");
    if (add == nullptr) return kNoValue;
    const Node* erf = produced_by(operand_beside(*add, 1.0), "Erf");
    if (erf == nullptr) return kNoValue;
    const Node* scaled = producer_of(graph, uses, erf->inputs[0]);
    if (scaled == nullptr) return kNoValue;
    if (is_op(*scaled, "Div") && near(scalar_constant(graph, scaled->inputs[1]), std::sqrt(2.0)))
      return scaled->inputs[0];
    return is_op(*scaled, "Mul") ? operand_beside(*scaled, std::sqrt(0.5)) : kNoValue;
  }

  // x when a * b is x * gate(x).
  ValueId gated(ValueId a, ValueId b) const {
    if (a != kNoValue && gate_argument(b) == a) return a;
    if (b != kNoValue && gate_argument(a) == b) return b;
    return kNoValue;
  }

  // x when the node computes GELU(x): (x * gate) * 0.5, (0.5 * x) * gate or (0.5 * gate) * x.
  ValueId gelu_argument(const Node& mul) const {
    const ValueId inner = operand_beside(mul, 0.5);
    if (const Node* product = produced_by(inner, "Mul"))
      return gated(product->inputs[0], product->inputs[1]);
    for (size_t side = 0; side < 2; ++side) {
      const Node* half = produced_by(mul.inputs[side], "Mul");
      if (half == nullptr) continue;
      const ValueId x = gated(operand_beside(*half, 0.5), mul.inputs[1 - side]);
      if (x != kNoValue) return x;
    }
    return kNoValue;
  }
};

// The nodes between x and the final product that only serve it, in graph order.
void collect_origins(Graph& graph, const Uses& uses, ValueId stop, const Node& from,
                     std::vector<std::string>& origins) {
  for (ValueId id : from.inputs) {
    if (id == stop) continue;
    const Node* node = producer_of(graph, uses, id);
    if (node == nullptr) continue;
    collect_origins(graph, uses, stop, *node, origins);
    origins.insert(origins.end(), node->origins.begin(), node->origins.end());
  }
}

}  // namespace

void fuse_gelu(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  const Matcher matcher{graph, uses};
  for (Node& mul : graph.nodes) {
    if (!is_op(mul, "Mul")) continue;
    const ValueId x = matcher.gelu_argument(mul);
    if (x == kNoValue || !rewrites.allow()) continue;
    Node fused{.op = find_op("Gelu"),
               .name = mul.name,
               .inputs = {x},
               .outputs = mul.outputs,
               .attrs = {},
               .origins = {},
               .decision = {}};
    collect_origins(graph, uses, x, mul, fused.origins);
    append_origins(fused, mul);
    mul = std::move(fused);
  }
}

}  // namespace octet
