// SPDX-License-Identifier: Apache-2.0
// x * Sigmoid(x) is Swish (SiLU), x * HardSigmoid(x) with the usual constants is HardSwish.
#include <cmath>

#include "ops/attributes/functions.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// The single operator for x * gate(x), or null.
const OpDef* gated(const Node& gate) {
  if (is_op(gate, "Sigmoid")) return find_op("Swish");
  const bool sixth =
      std::fabs(attribute_of<&HardSigmoidAttributes::alpha>(gate) - 1.0f / 6.0f) < 1e-7f;
  const bool half = attribute_of<&HardSigmoidAttributes::beta>(gate) == 0.5f;
  return is_op(gate, "HardSigmoid") && sixth && half ? find_op("HardSwish") : nullptr;
}

}  // namespace

void fuse_swish(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& mul : graph.nodes) {
    if (!is_op(mul, "Mul")) continue;
    for (size_t side = 0; side < 2; ++side) {
      const Node* gate = producer_of(graph, uses, mul.inputs[side]);
      if (gate == nullptr || gate->inputs[0] != mul.inputs[1 - side]) continue;
      const OpDef* op = gated(*gate);
      if (op == nullptr || only_reader(graph, uses, mul.inputs[side]) == nullptr) continue;
      if (!rewrites.allow()) return;
      Node fused = *gate;
      fused.op = op;
      fused.name = mul.name;
      fused.attrs = {};
      replace_fused(mul, std::move(fused), *gate);
      break;
    }
  }
}

}  // namespace octet
