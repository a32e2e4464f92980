// SPDX-License-Identifier: Apache-2.0
// A normalization written out, (x - mean) / sqrt(mean of squares + epsilon) with what exporters put in its place (Pow or Mul for the
// square, Div, Reciprocal or Pow for the root), becomes LayerNormalization where it goes over the last axes or over the channels of an
// image, and InstanceNormalization where it goes over the pixels; a Mul and an Add of constants behind it are its scale and bias.
// Without the mean, over the last axes, it is RMSNormalization. GroupNorm is such a normalization between Reshapes. Runs before fuse_bias, which would look for the Add.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "graph/op_traits.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/reduction.h"
#include "ops/registry.h"
#include "ops/shared/axes.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// What lies between x and the normalized value.
struct Core {
  ValueId x = kNoValue;
  std::vector<int> axes;  // ascending
  f32 epsilon = 0.0f;
  bool centered = true;  // a mean was subtracted
};

class NormalizationMatcher {
 public:
  NormalizationMatcher(Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  // The node computes a normalized value, without scale and bias. x - mean is divided by its own root mean square, too: what
  // subtracts a mean comes first.
  std::optional<Core> core(const Node& node) const {
    const std::optional<Quotient> q = quotient(node);
    if (!q) return {};
    const auto variance = beside_constant(q->variance, "Add");
    if (!variance || !(variance->constant > 0.0f)) return {};
    const Node* mean = produced_by(variance->value, "ReduceMean");
    if (mean == nullptr) return {};
    const auto axes = mean_axes(variance->value, mean->inputs[0]);
    if (!axes) return {};
    const Node* centered = produced_by(q->dividend, "Sub");
    if (centered != nullptr && is_square(mean->inputs[0], *centered) &&
        mean_axes(centered->inputs[1], centered->inputs[0]) == axes)
      return Core{centered->inputs[0], *axes, variance->constant};
    const Node* square = producer_of(graph_, uses_, mean->inputs[0]);
    if (square == nullptr || !squares(*square) || square->inputs[0] != q->dividend) return {};
    return Core{q->dividend, *axes, variance->constant, false};
  }

 private:
  struct Quotient {
    ValueId dividend;  // x - mean
    ValueId variance;  // with epsilon
  };

  bool squares(const Node& node) const {
    const bool product = is_op(node, "Mul") && node.inputs[0] == node.inputs[1];
    return product || is_power(node, 2.0f);
  }

  struct Operand {
    ValueId value;
    f32 constant;
  };

  const Node* produced_by(ValueId id, std::string_view op) const {
    const Node* node = producer_of(graph_, uses_, id);
    return node != nullptr && is_op(*node, op) ? node : nullptr;
  }

  // The other operand of a commutative node with a constant of one element.
  std::optional<Operand> beside_constant(ValueId id, std::string_view op) const {
    const Node* node = produced_by(id, op);
    for (size_t side = 0; node != nullptr && side < 2; ++side) {
      if (const auto constant = scalar_constant(graph_, node->inputs[side]))
        return Operand{node->inputs[1 - side], *constant};
    }
    return {};
  }

  bool is_power(const Node& node, f32 exponent) const {
    const auto constant = scalar_constant(graph_, node.input(1));
    return is_op(node, "Pow") && constant && *constant == exponent;
  }

  // That of which the value is the root; kNoValue where it is none.
  ValueId square_of_root(ValueId id) const {
    const Node* node = producer_of(graph_, uses_, id);
    if (node == nullptr) return kNoValue;
    return is_op(*node, "Sqrt") || is_power(*node, 0.5f) ? node->inputs[0] : kNoValue;
  }

  // The same of 1 / root.
  ValueId square_of_inverse(ValueId id) const {
    const Node* node = producer_of(graph_, uses_, id);
    if (node == nullptr) return kNoValue;
    if (is_power(*node, -0.5f)) return node->inputs[0];
    if (is_op(*node, "Reciprocal")) return square_of_root(node->inputs[0]);
    if (is_power(*node, -1.0f)) return square_of_root(node->inputs[0]);
    const auto one = is_op(*node, "Div") ? scalar_constant(graph_, node->inputs[0]) : std::nullopt;
    return one && *one == 1.0f ? square_of_root(node->inputs[1]) : kNoValue;
  }

  std::optional<Quotient> quotient(const Node& node) const {
    if (is_op(node, "Div")) {
      const ValueId variance = square_of_root(node.inputs[1]);
      if (variance != kNoValue) return Quotient{node.inputs[0], variance};
    }
    for (size_t side = 0; is_op(node, "Mul") && side < 2; ++side) {
      const ValueId variance = square_of_inverse(node.inputs[side]);
      if (variance != kNoValue) return Quotient{node.inputs[1 - side], variance};
    }
    return {};
  }

  // The square of x - mean, which exporters may write out twice.
  bool is_square(ValueId id, const Node& centered) const {
    const Node* node = producer_of(graph_, uses_, id);
    if (node == nullptr || !squares(*node)) return false;
    const Node* again = produced_by(node->inputs[0], "Sub");
    return again != nullptr && again->inputs[0] == centered.inputs[0] &&
           (again->inputs[1] == centered.inputs[1] ||
            mean_axes(again->inputs[1], again->inputs[0]) ==
                mean_axes(centered.inputs[1], centered.inputs[0]));
  }

  // The axes over which `id` is the mean of x, which keeps its rank.
  std::optional<std::vector<int>> mean_axes(ValueId id, ValueId x) const {
    const Node* mean = produced_by(id, "ReduceMean");
    const Shape& shape = graph_.value(x).type.shape;
    if (mean == nullptr || mean->inputs[0] != x || shape.is_unknown()) return {};
    if (!attribute_of<&ReduceAttributes::keepdims>(*mean)) return {};
    const Tensor* given = graph_.constant_input(*mean, 1);
    if (given == nullptr || given->dtype() != Dtype::s64 || given->elements() == 0) return {};
    std::vector<int> axes;
    for (s64 axis : given->as<s64>()) {
      if (axis < -shape.rank() || axis >= shape.rank()) return {};
      axes.push_back(static_cast<int>(axis < 0 ? axis + shape.rank() : axis));
    }
    std::ranges::sort(axes);
    return axes;
  }

  Graph& graph_;
  const Uses& uses_;
};

// How one operator covers the axes.
enum class Form { none, rows, pixels, channels };

class NormalizationFuser : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    const NormalizationMatcher matcher(graph_, uses_);
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      const std::optional<Core> core = matcher.core(graph_.nodes[at_]);
      if (!core || !is_real(*core)) continue;
      const Form form = form_of(*core);
      if (form == Form::none || (!core->centered && form != Form::rows)) continue;
      if (!rewrites_.allow()) break;
      replace(*core, form);
    }
    edit_.apply();
  }

 private:
  bool is_real(const Core& core) const { return graph_.value(core.x).type.dtype == Dtype::f32; }
  const Shape& shape_of(const Core& core) const { return graph_.value(core.x).type.shape; }

  Form form_of(const Core& core) const {
    const Shape& shape = shape_of(core);
    const int rank = shape.rank(), count = static_cast<int>(core.axes.size());
    for (int i = 1; i < count; ++i) {
      if (core.axes[static_cast<size_t>(i)] != core.axes[0] + i) return Form::none;
    }
    const bool last = core.axes.back() == rank - 1;
    if (rank == 4 && count == 1 && core.axes[0] == 1)
      return shape[1] > 0 ? Form::channels : Form::none;
    if (!last) return Form::none;
    if (rank >= 4 && core.axes[0] == 2) return shape[1] > 0 ? Form::pixels : Form::none;
    return normalized_count(core) > 0 ? Form::rows : Form::none;
  }

  // Elements of scale and bias of LayerNormalization; not positive where a size is not known.
  s64 normalized_count(const Core& core) const {
    s64 count = 1;
    for (int axis : core.axes) {
      const s64 dim = shape_of(core)[axis];
      if (dim <= 0 || count > kMostParameters / dim) return -1;
      count *= dim;
    }
    return count;
  }

  // The constant as one value for each parameter of the form, if it is that or one element.
  std::optional<Tensor> parameters(const Core& core, Form form, const Tensor& constant) const {
    if (constant.dtype() != Dtype::f32) return {};
    const int rank = shape_of(core).rank();
    const int first = form == Form::rows ? core.axes[0] : 1;
    const int end = form == Form::rows ? rank : 2;
    const s64 count = form == Form::rows ? normalized_count(core) : shape_of(core)[1];
    const Shape& given = constant.shape();
    if (given.rank() > rank) return {};
    for (int i = 0; i < given.rank(); ++i) {
      const int axis = rank - given.rank() + i;
      const bool inside = axis >= first && axis < end;
      if (given[i] != (inside ? shape_of(core)[axis] : 1)) return constant_of_one(constant, count);
    }
    if (constant.elements() == count) return constant.reshaped({count});
    return constant_of_one(constant, count);
  }

  static std::optional<Tensor> constant_of_one(const Tensor& constant, s64 count) {
    if (constant.elements() != 1) return {};
    return filled(count, constant.as<f32>()[0]);
  }

  static Tensor filled(s64 count, f32 value) {
    Tensor tensor(Dtype::f32, {count});
    std::ranges::fill(tensor.mutable_as<f32>(), value);
    return tensor;
  }

  // The constant operand of the only reader of a node's result, if that is of this operator and fits.
  std::optional<Tensor> follows(size_t at, std::string_view op, const Core& core, Form form,
                                size_t& reader) const {
    const s32 next = uses_.only_consumer(graph_.nodes[at].outputs[0]);
    if (next < 0 || !is_op(graph_.nodes[static_cast<size_t>(next)], op)) return {};
    const Node& node = graph_.nodes[static_cast<size_t>(next)];
    for (size_t side = 0; side < 2; ++side) {
      const Tensor* constant = graph_.constant_input(node, side);
      if (constant == nullptr) continue;
      std::optional<Tensor> fitting = parameters(core, form, *constant);
      if (fitting) reader = static_cast<size_t>(next);
      return fitting;
    }
    return {};
  }

  void replace(const Core& core, Form form) {
    size_t last = at_;
    const s64 count = form == Form::rows ? normalized_count(core) : shape_of(core)[1];
    const auto scale = follows(last, "Mul", core, form, last);
    const auto bias =
        core.centered ? follows(last, "Add", core, form, last) : std::optional<Tensor>();
    Node& place = graph_.nodes[last];
    Node norm;
    norm.op = find_op("LayerNormalization");
    if (form == Form::pixels) norm.op = find_op("InstanceNormalization");
    norm.name = place.name;
    norm.inputs = {core.x, add(place, ".scale", scale.value_or(filled(count, 1.0f)))};
    if (core.centered) {
      norm.inputs.push_back(add(place, ".bias", bias.value_or(filled(count, 0.0f))));
    } else {
      norm.op = find_op("RMSNormalization");
    }
    set_attribute<&NormAttributes::epsilon>(norm.attrs, core.epsilon);
    if (form == Form::rows) set_attribute<&RowNormAttributes::axis>(norm.attrs, core.axes[0]);
    norm.decision = place.decision;
    collect_origins(core.x, place, norm.origins);
    append_origins(norm, place);
    const ValueId result = place.outputs[0];
    if (form != Form::channels) {
      norm.outputs = {result};
      place = std::move(norm);
    } else {
      normalize_channels(last, std::move(norm), result);
    }
  }

  ValueId add(const Node& place, std::string_view what, Tensor tensor) {
    return graph_.add_constant(place.name + std::string(what), std::move(tensor));
  }

  // Channels are the last axis between two Transposes, which cost nothing where pixels lie one behind the other.
  void normalize_channels(size_t at, Node norm, ValueId result) {
    const ValueId x = norm.inputs[0];
    Node before = node_beside(norm, find_op("Transpose"), norm.name + "_channels_last", {x});
    Node after = node_beside(norm, find_op("Transpose"), norm.name + "_channels_first", {});
    const Shape s = graph_.value(x).type.shape;
    const TensorType type{Dtype::f32, Shape{s[0], s[2], s[3], s[1]}};
    set_attribute<&TransposeAttributes::perm>(before.attrs, {0, 2, 3, 1});
    before.outputs = {graph_.add_value(before.name, type)};
    set_attribute<&RowNormAttributes::axis>(norm.attrs, 3);
    norm.inputs[0] = before.outputs[0];
    norm.outputs = {graph_.add_value(norm.name + ".rows", type)};
    set_attribute<&TransposeAttributes::perm>(after.attrs, {0, 3, 1, 2});
    after.inputs = {norm.outputs[0]};
    after.outputs = {result};
    edit_.insert_before(at, std::move(before));
    edit_.insert_before(at, std::move(norm));
    graph_.nodes[at] = std::move(after);
  }

  // The nodes between x and the last one, each once.
  void collect_origins(ValueId x, const Node& from, std::vector<std::string>& origins) const {
    std::vector<const Node*> open = {&from}, seen;
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      for (ValueId id : node->inputs) {
        const Node* before = id == x ? nullptr : producer_of(graph_, uses_, id);
        if (before == nullptr || std::ranges::find(seen, before) != seen.end()) continue;
        seen.push_back(before);
        open.push_back(before);
      }
    }
    std::ranges::sort(seen);
    for (const Node* node : seen)
      origins.insert(origins.end(), node->origins.begin(), node->origins.end());
  }

  static constexpr s64 kMostParameters = s64{1} << 24;
};

}  // namespace

void fuse_normalization(Graph& graph, Rewrites& rewrites) {
  NormalizationFuser(graph, rewrites).run();
}

}  // namespace octet
