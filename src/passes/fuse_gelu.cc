// SPDX-License-Identifier: Apache-2.0
// GELU written out, in any order of its three products, becomes Gelu: the Erf form 0.5 * x * (1 + erf(x / sqrt(2))), and the tanh form
// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
#include <cmath>
#include <string>

#include "ops/attributes/functions.h"
#include "ops/registry.h"
#include "passes/chain.h"
#include "passes/pass.h"

namespace octet {
namespace {

constexpr f64 kCubic = 0.044715;

struct Gate {
  ValueId x = kNoValue;
  bool by_tanh = false;
};

class GeluMatcher {
 public:
  explicit GeluMatcher(const Chain& chain) : chain_(chain) {}

  // x when the node computes GELU(x): (x * gate) * 0.5, (0.5 * x) * gate or (0.5 * gate) * x.
  Gate gelu(const Node& mul) const {
    if (const Node* product = chain_.produced_by(chain_.operand_beside(mul, 0.5), "Mul"))
      return gated(product->inputs[0], product->inputs[1]);
    for (size_t side = 0; side < 2; ++side) {
      const Node* half = chain_.produced_by(mul.inputs[side], "Mul");
      if (half == nullptr) continue;
      const Gate gate = gated(chain_.operand_beside(*half, 0.5), mul.inputs[1 - side]);
      if (gate.x != kNoValue) return gate;
    }
    return {};
  }

 private:
  // x when `id` is 1 + erf(x / sqrt(2)), or 1 + tanh(...).
  Gate gate_of(ValueId id) const {
    const Node* add = chain_.produced_by(id, "Add");
    if (add == nullptr) return {};
    const ValueId inner = chain_.operand_beside(*add, 1.0);
    if (const Node* erf = chain_.produced_by(inner, "Erf"))
      return {chain_.divided(erf->inputs[0], std::sqrt(2.0)), false};
    const Node* tanh = chain_.produced_by(inner, "Tanh");
    return tanh != nullptr ? Gate{tanh_argument(tanh->inputs[0]), true} : Gate{};
  }

  // x when `id` is sqrt(2 / pi) * (x + 0.044715 * x^3).
  ValueId tanh_argument(ValueId id) const {
    const Node* add = chain_.produced_by(chain_.divided(id, std::sqrt(M_PI / 2)), "Add");
    if (add == nullptr) return kNoValue;
    for (size_t side = 0; side < 2; ++side) {
      const Node* cubic = chain_.produced_by(add->inputs[side], "Mul");
      const ValueId x = add->inputs[1 - side];
      if (cubic != nullptr && is_cubic(*cubic, x)) return x;
    }
    return kNoValue;
  }

  // 0.044715 * x^3: of a power, or of products in any order.
  bool is_cubic(const Node& mul, ValueId x) const {
    if (const ValueId cube = chain_.operand_beside(mul, kCubic); cube != kNoValue)
      return is_power(cube, x, 3);
    for (size_t side = 0; side < 2; ++side) {
      const Node* inner = chain_.produced_by(mul.inputs[side], "Mul");
      if (inner == nullptr) continue;
      const ValueId rest = chain_.operand_beside(*inner, kCubic);
      if (rest == x && is_power(mul.inputs[1 - side], x, 2)) return true;
      if (rest != kNoValue && mul.inputs[1 - side] == x && is_power(rest, x, 2)) return true;
    }
    return false;
  }

  bool is_power(ValueId id, ValueId x, int exponent) const {
    if (const Node* pow = chain_.produced_by(id, "Pow"))
      return pow->inputs[0] == x && chain_.is_near(pow->inputs[1], exponent);
    const Node* mul = chain_.produced_by(id, "Mul");
    if (mul == nullptr) return false;
    if (exponent == 2) return mul->inputs[0] == x && mul->inputs[1] == x;
    return (mul->inputs[0] == x && is_power(mul->inputs[1], x, 2)) ||
           (mul->inputs[1] == x && is_power(mul->inputs[0], x, 2));
  }

  // x when a * b is x * gate(x).
  Gate gated(ValueId a, ValueId b) const {
    if (a == kNoValue || b == kNoValue) return {};
    if (const Gate gate = gate_of(b); gate.x == a) return gate;
    if (const Gate gate = gate_of(a); gate.x == b) return gate;
    return {};
  }

  const Chain& chain_;
};

}  // namespace

void fuse_gelu(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  const Chain chain(graph, uses);
  const GeluMatcher matcher(chain);
  for (Node& mul : graph.nodes) {
    if (!is_op(mul, "Mul")) continue;
    const Gate gate = matcher.gelu(mul);
    if (gate.x == kNoValue || !rewrites.allow()) continue;
    Node fused;
    fused.op = find_op("Gelu");
    if (gate.by_tanh) set_attribute<&GeluAttributes::approximate>(fused.attrs, GeluForm::tanh);
    chain.fuse(mul, gate.x, std::move(fused));
  }
}

}  // namespace octet
