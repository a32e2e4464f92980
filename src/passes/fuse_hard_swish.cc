// SPDX-License-Identifier: Apache-2.0
// x * clip(x + 3, 0, 6) / 6, divided in any place, becomes HardSwish: exporters without the operator write it so.
#include "ops/registry.h"
#include "passes/chain.h"
#include "passes/pass.h"

namespace octet {
namespace {

class HardSwishMatcher {
 public:
  HardSwishMatcher(const Graph& graph, const Chain& chain) : graph_(graph), chain_(chain) {}

  // x when the node computes HardSwish(x), else kNoValue.
  ValueId argument(const Node& last) const {
    if (const Node* product = chain_.produced_by(chain_.divided(last, 6), "Mul"))
      return gated(*product, 1);
    return is_op(last, "Mul") ? gated(last, 6) : kNoValue;
  }

 private:
  // x when the product is x * clip(x + 3, 0, 6) / divisor.
  ValueId gated(const Node& product, f64 divisor) const {
    for (size_t side = 0; side < 2; ++side) {
      const ValueId x = product.inputs[1 - side];
      const ValueId gate = product.inputs[side];
      const ValueId clip = divisor == 1 ? gate : chain_.divided(gate, divisor);
      if (x != kNoValue && clipped(clip) == x) return x;
    }
    return kNoValue;
  }

  // x when `id` is clip(x + 3, 0, 6).
  ValueId clipped(ValueId id) const {
    const Node* clip = chain_.produced_by(id, "Clip");
    if (clip == nullptr || scalar_constant(graph_, clip->input(1)) != 0.0f ||
        scalar_constant(graph_, clip->input(2)) != 6.0f)
      return kNoValue;
    const Node* add = chain_.produced_by(clip->inputs[0], "Add");
    return add != nullptr ? chain_.operand_beside(*add, 3) : kNoValue;
  }

  const Graph& graph_;
  const Chain& chain_;
};

}  // namespace

void fuse_hard_swish(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  const Chain chain(graph, uses);
  const HardSwishMatcher matcher(graph, chain);
  for (Node& last : graph.nodes) {
    if (last.inputs.size() != 2) continue;
    const ValueId x = matcher.argument(last);
    if (x == kNoValue || !rewrites.allow()) continue;
    Node fused;
    fused.op = find_op("HardSwish");
    chain.fuse(last, x, std::move(fused));
  }
}

}  // namespace octet
