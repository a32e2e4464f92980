// SPDX-License-Identifier: Apache-2.0
// Softmax written out, e / sum(e) of e = exp(x - max(x)) over one axis, becomes Softmax, which has kernels and gives codes to the product
// behind it; x - max(x) - log(sum(e)) becomes LogSoftmax. What x cannot leave the exponential's middle needs no maximum. A step that somebody
// else reads stays, and all with it. The largest element of the whole tensor is no maximum of a row: a row far below it sums to zero.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/rounding.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "passes/chain.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

struct FoundSoftmax {
  ValueId x = kNoValue;
  int axis = 0;
  const char* op = "Softmax";
};

class SoftmaxMatcher {
 public:
  SoftmaxMatcher(Graph& graph, const Uses& uses, const Chain& chain)
      : graph_(graph), uses_(uses), chain_(chain) {}

  // The softmax that the node is the last step of.
  std::optional<FoundSoftmax> softmax_of(const Node& node) const {
    const std::optional<FoundSoftmax> found = is_op(node, "Sub") ? logarithm(node) : quotient(node);
    if (!found || graph_.value(found->x).type.dtype != Dtype::f32) return {};
    return found;
  }

 private:
  struct Reduced {
    const Node* node = nullptr;
    int axis = 0;
  };

  // Exponentials of x - max(x) over the axis, or of x itself where that is as good.
  struct Exponentials {
    ValueId below = kNoValue;  // what they are of
    int axis = 0;
  };

  bool is_read_by(ValueId id, size_t readers) const {
    return !uses_.is_output(id) && uses_.consumers(id).size() == readers;
  }

  // The axis of a reduction over one, of x.
  std::optional<int> lone_axis(const Node& reduce, const Shape& shape) const {
    if (shape.is_unknown() || shape.rank() == 0) return {};
    if (reduce.input(1) == kNoValue) {
      const bool all =
          shape.rank() == 1 && !attribute_of<&ReduceAttributes::noop_with_empty_axes>(reduce);
      return all ? std::optional(0) : std::nullopt;
    }
    const Tensor* given = graph_.constant_input(reduce, 1);
    if (given == nullptr || given->dtype() != Dtype::s64 || given->elements() != 1) return {};
    const s64 axis = given->as<s64>()[0];
    if (axis < -shape.rank() || axis >= shape.rank()) return {};
    return static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
  }

  // `id` holds one value of such a reduction for each row of what it reduces: with the axis kept, put back, or first, where broadcasting
  // puts it back.
  std::optional<Reduced> reduced(ValueId id, std::string_view op) const {
    const Node* put_back = chain_.produced_by(id, "Unsqueeze");
    if (put_back == nullptr) put_back = chain_.produced_by(id, "Reshape");
    // What computes a shape would go into the softmax's origins.
    if (put_back != nullptr && !graph_.is_constant(put_back->input(1))) return {};
    const Node* reduce = chain_.produced_by(put_back != nullptr ? put_back->inputs[0] : id, op);
    if (reduce == nullptr) return {};
    const Shape& shape = graph_.value(reduce->inputs[0]).type.shape;
    const std::optional<int> axis = lone_axis(*reduce, shape);
    if (!axis) return {};
    const Shape& kept = graph_.value(id).type.shape;
    const bool is_first = *axis == 0 && put_back == nullptr;
    if (kept.is_unknown() || (kept.rank() != shape.rank() && !is_first)) return {};
    for (int i = 0; i < kept.rank(); ++i) {
      const int at = i + shape.rank() - kept.rank();
      if (kept[i] != (at == *axis ? 1 : shape[at])) return {};
    }
    return Reduced{reduce, *axis};
  }

  // Those that nobody reads but their sum and the last step.
  std::optional<Exponentials> exponentials(ValueId id, const Reduced& sum, size_t readers) const {
    const Node* exp = chain_.produced_by(id, "Exp");
    if (exp == nullptr || sum.node->inputs[0] != id || !is_read_by(id, readers)) return {};
    return Exponentials{exp->inputs[0], sum.axis};
  }

  // x of x - max(x) over the axis, with one reader more than the exponential or none.
  ValueId of_maximum(ValueId id, int axis, size_t readers) const {
    const Node* below = chain_.produced_by(id, "Sub");
    if (below == nullptr || !is_read_by(id, readers)) return kNoValue;
    const auto maximum = reduced(below->inputs[1], "ReduceMax");
    const ValueId x = below->inputs[0];
    return maximum && maximum->node->inputs[0] == x && maximum->axis == axis ? x : kNoValue;
  }

  // The divisor of a / b, or of a * (1 / b) on either side.
  struct Quotient {
    ValueId dividend, divisor;
  };

  std::vector<Quotient> quotients(const Node& node) const {
    if (is_op(node, "Div")) return {{node.inputs[0], node.inputs[1]}};
    std::vector<Quotient> found;
    for (size_t side = 0; is_op(node, "Mul") && side < 2; ++side) {
      const ValueId id = node.inputs[side];
      const Node* inverse = chain_.produced_by(id, "Reciprocal");
      if (inverse != nullptr && is_read_by(id, 1))
        found.push_back({node.inputs[1 - side], inverse->inputs[0]});
      const Node* div = chain_.produced_by(id, "Div");
      const auto one =
          div == nullptr ? std::optional<f32>() : scalar_constant(graph_, div->inputs[0]);
      if (one && *one == 1.0f && is_read_by(id, 1))
        found.push_back({node.inputs[1 - side], div->inputs[1]});
    }
    return found;
  }

  std::optional<FoundSoftmax> quotient(const Node& node) const {
    for (const Quotient& q : quotients(node)) {
      const auto sum = reduced(q.divisor, "ReduceSum");
      if (!sum || !is_read_by(q.divisor, 1) || !is_read_by(sum->node->outputs[0], 1)) continue;
      const auto e = exponentials(q.dividend, *sum, 2);
      if (!e) continue;
      const ValueId x = of_maximum(e->below, e->axis, 1);
      if (x != kNoValue) return FoundSoftmax{x, e->axis};
      if (bound_of(e->below, 0) <= kMostWithoutMaximum) return FoundSoftmax{e->below, e->axis};
    }
    return {};
  }

  // The logarithm of a sum of exponentials that nobody else reads.
  std::optional<Exponentials> log_of_sum(ValueId id) const {
    if (!is_read_by(id, 1)) return {};
    if (const auto both = reduced(id, "ReduceLogSum"))
      return exponentials(both->node->inputs[0], *both, 1);
    const Node* log = chain_.produced_by(id, "Log");
    const auto sum =
        log == nullptr ? std::optional<Reduced>() : reduced(log->inputs[0], "ReduceSum");
    if (!sum || !is_read_by(log->inputs[0], 1) || !is_read_by(sum->node->outputs[0], 1)) return {};
    return exponentials(sum->node->inputs[0], *sum, 1);
  }

  // (x - max) - log(sum), or x - (max + log(sum)).
  std::optional<FoundSoftmax> logarithm(const Node& sub) const {
    if (const auto e = log_of_sum(sub.inputs[1]); e && e->below == sub.inputs[0]) {
      const ValueId x = of_maximum(e->below, e->axis, 2);
      if (x != kNoValue) return FoundSoftmax{x, e->axis, "LogSoftmax"};
      const bool inside = bound_of(e->below, 0) <= kMostWithoutMaximum;
      return inside ? std::optional(FoundSoftmax{e->below, e->axis, "LogSoftmax"}) : std::nullopt;
    }
    const Node* add = chain_.produced_by(sub.inputs[1], "Add");
    for (size_t side = 0; add != nullptr && side < 2; ++side) {
      const auto e = log_of_sum(add->inputs[side]);
      const ValueId x = e ? of_maximum(e->below, e->axis, 1) : kNoValue;
      const auto maximum = reduced(add->inputs[1 - side], "ReduceMax");
      if (x == kNoValue || x != sub.inputs[0] || !maximum || !is_read_by(sub.inputs[1], 1))
        continue;
      if (maximum->node->inputs[0] == x && maximum->axis == e->axis)
        return FoundSoftmax{x, e->axis, "LogSoftmax"};
    }
    return {};
  }

  // The largest magnitude that a value can have by what makes it; infinite where that says nothing.
  f64 bound_of(ValueId id, int depth) const {
    const Node* node = producer_of(graph_, uses_, id);
    if (node == nullptr || depth > kMostSteps) return kUnbounded;
    if (is_op(*node, "Tanh")) return 1.0;
    if (is_op(*node, "Clip")) return bound_of_clip(*node);
    if (is_dequantize(*node)) return bound_of_codes(*node);
    return bound_of_product(*node, depth);
  }

  f64 bound_of_clip(const Node& clip) const {
    const auto low = scalar_constant(graph_, clip.input(1));
    const auto high = scalar_constant(graph_, clip.input(2));
    if (!low || !high || !(*low <= *high)) return kUnbounded;
    return std::max(std::fabs(f64{*low}), std::fabs(f64{*high}));
  }

  f64 bound_of_codes(const Node& dequantize) const {
    const std::optional<CodeType> type = code_type(graph_, dequantize);
    if (!type) return kUnbounded;
    const CodeRange range = code_range(type->dtype);
    const s32 zero = type->params.zero_point;
    return f64{type->params.scale} * std::max(zero - range.lo, range.hi - zero);
  }

  f64 bound_of_product(const Node& node, int depth) const {
    for (size_t side = 0; side < node.inputs.size() && node.inputs.size() == 2; ++side) {
      const auto constant = scalar_constant(graph_, node.inputs[side]);
      if (!constant || !std::isfinite(*constant)) continue;
      const f64 size = std::fabs(f64{*constant});
      const ValueId other = node.inputs[1 - side];
      if (is_op(node, "Mul")) return size * bound_of(other, depth + 1);
      if (is_op(node, "Div") && side == 1 && size > 0) return bound_of(other, depth + 1) / size;
    }
    return kUnbounded;
  }

  static constexpr f64 kUnbounded = std::numeric_limits<f64>::infinity();
  // exp() of as much either way is a normal number, and so is any sum of those.
  static constexpr f64 kMostWithoutMaximum = 40.0;
  static constexpr int kMostSteps = 8;

  Graph& graph_;
  const Uses& uses_;
  const Chain& chain_;
};

}  // namespace

void fuse_softmax(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  const Chain chain(graph, uses);
  const SoftmaxMatcher matcher(graph, uses, chain);
  for (Node& node : graph.nodes) {
    const std::optional<FoundSoftmax> softmax = matcher.softmax_of(node);
    if (!softmax || !rewrites.allow()) continue;
    Node fused;
    fused.op = find_op(softmax->op);
    set_attribute<&SoftmaxAttributes::axis>(fused.attrs, softmax->axis);
    chain.fuse(node, softmax->x, std::move(fused));
  }
}

}  // namespace octet
