// SPDX-License-Identifier: Apache-2.0
// GroupNormalization as exporters without the operator write it: Reshape of [N,C,...] to [N,groups,...], a normalization of all that
// a group holds, Reshape back, and a Mul and an Add of one constant for each channel. Runs after fuse_normalization, which makes one
// operator of a normalization that is written out.
#include <algorithm>
#include <optional>
#include <vector>

#include "ops/attributes/normalization.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

class GroupNormFuser {
 public:
  GroupNormFuser(Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  void run(Rewrites& rewrites) {
    for (Node& node : graph_.nodes) {
      const std::optional<Groups> groups = groups_of(node);
      if (groups && rewrites.allow()) replace(node, *groups);
    }
  }

 private:
  struct Groups {
    const Node* split;  // Reshape to groups
    const Node* norm;
    std::vector<f32> scale, bias;  // of each group
  };

  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }

  // The only reader of what produces a value.
  const Node* only_before(ValueId id, std::string_view op) const {
    const Node* node = producer_of(graph_, uses_, id);
    const bool fits = node != nullptr && is_op(*node, op) && uses_.only_consumer(id) >= 0;
    return fits ? node : nullptr;
  }

  // `last` is the Reshape back.
  std::optional<Groups> groups_of(const Node& last) const {
    if (!is_op(last, "Reshape")) return {};
    const Node* norm = only_before(last.inputs[0], "InstanceNormalization");
    if (norm == nullptr) norm = only_before(last.inputs[0], "LayerNormalization");
    if (norm == nullptr || norm->outputs.size() != 1) return {};
    const Node* split = only_before(norm->inputs[0], "Reshape");
    if (split == nullptr || !splits_channels(*split, shape_of(last.outputs[0]))) return {};
    const auto scale = of_groups(*norm, 1, 1.0f), bias = of_groups(*norm, 2, 0.0f);
    if (!scale || !bias) return {};
    return Groups{split, norm, *scale, *bias};
  }

  // [N,C,...] to [N,groups,...]: the first sizes are the same, so what follows a group's index are its channels.
  bool splits_channels(const Node& split, const Shape& result) const {
    const Shape &x = shape_of(split.inputs[0]), &groups = shape_of(split.outputs[0]);
    if (x.is_unknown() || groups.is_unknown() || x.rank() < 3 || groups.rank() < 3) return false;
    const bool real = graph_.value(split.inputs[0]).type.dtype == Dtype::f32;
    return real && x == result && x[0] == groups[0] && x[1] > 0 && groups[1] > 0 &&
           x[1] % groups[1] == 0;
  }

  // A parameter of the normalization for each group, if each group has one.
  std::optional<std::vector<f32>> of_groups(const Node& norm, size_t input, f32 absent) const {
    const Shape& shape = shape_of(norm.inputs[0]);
    const auto count = static_cast<size_t>(shape[1]);
    if (norm.input(input) == kNoValue) return std::vector<f32>(count, absent);
    const Tensor* constant = graph_.constant_input(norm, input);
    if (constant == nullptr || constant->dtype() != Dtype::f32) return {};
    const auto values = constant->as<f32>();
    if (is_op(norm, "InstanceNormalization")) return std::vector<f32>(values.begin(), values.end());
    const s64 axis = attribute_of<&RowNormAttributes::axis>(norm);
    const bool all = (axis < 0 ? axis + shape.rank() : axis) == 2 && !values.empty();
    if (!all || std::ranges::any_of(values, [&](f32 v) { return v != values[0]; })) return {};
    return std::vector<f32>(count, values[0]);
  }

  // One value for each of the channels, if the constant is that or one element.
  static std::optional<std::vector<f32>> of_channels(const Tensor& constant, const Shape& x) {
    if (constant.dtype() != Dtype::f32 || constant.shape().rank() > x.rank()) return {};
    const auto values = constant.as<f32>();
    const auto channels = static_cast<size_t>(x[1]);
    if (values.size() == 1) return std::vector<f32>(channels, values[0]);
    const int channel_axis = constant.shape().rank() - x.rank() + 1;
    const bool fits =
        values.size() == channels && channel_axis >= 0 && constant.shape()[channel_axis] == x[1];
    if (!fits) return {};
    return std::vector<f32>(values.begin(), values.end());
  }

  // The constant operand of the only reader of the node's result, if that is such a node; `node` is then that reader.
  std::optional<std::vector<f32>> follows(Node*& node, std::string_view op, const Shape& x,
                                          std::vector<const Node*>& seen) {
    Node* next = only_reader(graph_, uses_, node->outputs[0]);
    if (next == nullptr || !is_op(*next, op) || shape_of(next->outputs[0]) != x) return {};
    for (size_t side = 0; side < 2; ++side) {
      const Tensor* constant = graph_.constant_input(*next, side);
      if (constant == nullptr) continue;
      auto values = of_channels(*constant, x);
      if (!values) return {};
      seen.push_back(node);
      node = next;
      return values;
    }
    return {};
  }

  void replace(Node& back, const Groups& groups) {
    const Shape x = shape_of(groups.split->inputs[0]);
    const auto channels = static_cast<size_t>(x[1]);
    std::vector<const Node*> seen = {groups.split, groups.norm};
    Node* last = &back;
    const auto factor = follows(last, "Mul", x, seen);
    const auto term = follows(last, "Add", x, seen);
    Tensor scale(Dtype::f32, {x[1]}), bias(Dtype::f32, {x[1]});
    for (size_t c = 0; c < channels; ++c) {
      const size_t group = c / (channels / groups.scale.size());
      const f32 mul = factor ? (*factor)[c] : 1.0f, add = term ? (*term)[c] : 0.0f;
      scale.mutable_as<f32>()[c] = groups.scale[group] * mul;
      bias.mutable_as<f32>()[c] = groups.bias[group] * mul + add;
    }
    Node node;
    node.op = find_op("GroupNormalization");
    node.name = last->name;
    node.decision = last->decision;
    node.inputs = {groups.split->inputs[0], graph_.add_constant(last->name + ".scale", scale),
                   graph_.add_constant(last->name + ".bias", bias)};
    set_attribute<&GroupNormAttributes::num_groups>(node.attrs, std::ssize(groups.scale));
    set_attribute<&NormAttributes::epsilon>(node.attrs,
                                            attribute_of<&NormAttributes::epsilon>(*groups.norm));
    node.outputs = last->outputs;
    for (const Node* earlier : seen) append_origins(node, *earlier);
    append_origins(node, *last);
    *last = std::move(node);
  }

  Graph& graph_;
  const Uses& uses_;
};

}  // namespace

void fuse_group_norm(Graph& graph, Rewrites& rewrites) {
  GroupNormFuser(graph, rewrites.uses(graph)).run(rewrites);
}

}  // namespace octet
