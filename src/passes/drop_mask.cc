// SPDX-License-Identifier: Apache-2.0
// A mask that hides nothing, whatever the sizes are: zeros that are added to what a Softmax reads, and a Where whose condition is one and the
// same everywhere. Exporters write both where the caller gives no mask, as arithmetic on a ConstantOfShape. Runs when types are known.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "graph/op_traits.h"
#include "ops/attributes/activation.h"
#include "ops/attributes/moves.h"
#include "passes/elementwise.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

class MaskDropper : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    for (Node& node : graph_.nodes) {
      for (ValueId& id : node.inputs) {
        while (stands_for_.contains(id)) id = stands_for_.at(id);
      }
      const ValueId same = what_is_left(node);
      if (same == kNoValue || !rewrites_.allow()) continue;
      stands_for_[node.outputs[0]] = same;
    }
  }

 private:
  // The operand that the node's result is; kNoValue: it is none, or the caller reads it.
  ValueId what_is_left(const Node& node) {
    if (node.outputs.size() != 1 || uses_.is_output(node.outputs[0])) return kNoValue;
    ValueId left = kNoValue;
    if (is_op(node, "Where")) left = chosen(node);
    if (is_op(node, "Add")) left = summand(node);
    if (left == kNoValue) return kNoValue;
    const auto type = [&](ValueId id) -> const TensorType& { return graph_.value(id).type; };
    return are_equal_sizes(type(left).shape, type(node.outputs[0]).shape) ? left : kNoValue;
  }

  ValueId chosen(const Node& where) {
    const std::optional<Tensor> condition = uniform(where.inputs[0], 0);
    if (!condition) return kNoValue;
    return condition->as<bool>()[0] ? where.inputs[1] : where.inputs[2];
  }

  // Zeros change nothing but the sign of a zero, which Softmax does not see.
  ValueId summand(const Node& add) {
    if (has_activation(add) || !feeds_softmax_alone(add.outputs[0])) return kNoValue;
    for (size_t side = 0; side < 2; ++side) {
      const std::optional<Tensor> mask = uniform(add.inputs[side], 0);
      if (mask && mask->dtype() == Dtype::f32 && mask->as<f32>()[0] == 0.0f)
        return add.inputs[1 - side];
    }
    return kNoValue;
  }

  bool feeds_softmax_alone(ValueId id) const {
    const std::span<const u32> readers = uses_.consumers(id);
    return !readers.empty() &&
           std::ranges::all_of(readers, [&](u32 n) { return is_op(graph_.nodes[n], "Softmax"); });
  }

  // The one element that a value holds everywhere, whatever its size.
  std::optional<Tensor> uniform(ValueId id, int depth) {
    if (id == kNoValue || depth > kMostSteps) return {};
    if (const auto known = uniform_.find(id); known != uniform_.end()) return known->second;
    std::optional<Tensor> found;
    if (graph_.is_constant(id)) {
      found = of_constant(graph_.value(id).constant);
    } else if (const Node* node = producer_of(graph_, uses_, id)) {
      found = of_node(*node, depth);
    }
    uniform_[id] = found;
    return found;
  }

  static std::optional<Tensor> of_constant(const Tensor& constant) {
    const s64 count = constant.elements();
    if (count == 0 || constant.bytes() % static_cast<size_t>(count) != 0) return {};
    const size_t width = constant.bytes() / static_cast<size_t>(count);
    const std::byte* data = constant.data();
    for (size_t i = width; i < constant.bytes(); ++i)
      if (data[i] != data[i - width]) return {};
    Tensor one(constant.dtype(), Shape{});
    std::copy_n(data, width, one.mutable_data());
    return one;
  }

  std::optional<Tensor> of_node(const Node& node, int depth) {
    if (node.outputs.size() != 1) return {};
    if (is_op(node, "ConstantOfShape"))
      return of_constant(
          attribute_of<&ConstantOfShapeAttributes::value>(node).value_or(Tensor::scalar(0.0f)));
    const bool repeats = is_op(node, "Expand");
    if (repeats || node.op->traits->permutes) return uniform(node.inputs[0], depth + 1);
    if (!is_elementwise(node)) return {};
    std::vector<Tensor> inputs;
    for (const ValueId id : node.inputs) {
      const std::optional<Tensor> one = id == kNoValue ? Tensor() : uniform(id, depth + 1);
      if (!one) return {};
      inputs.push_back(*one);
    }
    return eval_node(node, inputs)[0];
  }

  static constexpr int kMostSteps = 32;

  std::unordered_map<ValueId, std::optional<Tensor>> uniform_;
  std::unordered_map<ValueId, ValueId> stands_for_;
};

}  // namespace

void drop_mask(Graph& graph, Rewrites& rewrites) { MaskDropper(graph, rewrites).run(); }

}  // namespace octet
