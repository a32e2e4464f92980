// SPDX-License-Identifier: Apache-2.0
#include "precision/channel_classes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/attributes/moves.h"
#include "ops/attributes/sampling.h"
#include "ops/shared/activation.h"
#include "passes/match.h"
#include "precision/roles.h"

namespace octet {
namespace {

constexpr int kChannelAxis = 1;

enum : size_t { kConvWeights = 1, kConvBias = 2, kConvResidual = 3 };

// f(a * x) = a * f(x) for every a > 0.
bool is_homogeneous(const Node& node) {
  if (!node.op->traits->takes_activation) return true;
  const Activation activation = activation_of(node);
  switch (activation.kind) {
    case Activation::Kind::none:
    case Activation::Kind::leaky_relu:
      return true;
    default:
      return (activation.min == 0.0f || std::isinf(activation.min)) &&
             (activation.max == 0.0f || std::isinf(activation.max));
  }
}

// Works on the classes while the graph is read.
class Finder {
 public:
  Finder(const Graph& graph, const std::vector<size_t>& first, const std::vector<size_t>& counts,
         size_t total)
      : graph_(graph), first_(first), counts_(counts), parent_(total), fixed_(total) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }

  void run() {
    for (ValueId id : graph_.inputs) fix(id);
    for (ValueId id : graph_.outputs) fix(id);
    for (const Node& node : graph_.nodes) {
      if (!read(node)) fix_all(node);
    }
  }

  size_t root(size_t slot) {
    while (parent_[slot] != slot) slot = parent_[slot] = parent_[parent_[slot]];
    return slot;
  }
  bool is_fixed(size_t root) const { return fixed_[root]; }

 private:
  size_t channels(ValueId id) const { return id == kNoValue ? 0 : counts_[id]; }
  bool is_constant(const Node& node, size_t i) const {
    return node.input(i) == kNoValue || graph_.is_constant(node.input(i));
  }

  void fix(ValueId id) {
    for (size_t c = 0; c < channels(id); ++c) fixed_[root(first_[id] + c)] = true;
  }

  void fix_all(const Node& node) {
    for (ValueId id : node.inputs) fix(id);
    for (ValueId id : node.outputs) fix(id);
  }

  // Channels [a_from, a_from + count) of a and as many of b.
  struct Run {
    ValueId a, b;
    size_t a_from = 0, b_from = 0, count = 0;
  };

  void join(const Run& run) {
    for (size_t i = 0; i < run.count; ++i) {
      const size_t a = root(first_[run.a] + run.a_from + i);
      const size_t b = root(first_[run.b] + run.b_from + i);
      parent_[b] = a;
      fixed_[a] = fixed_[a] || fixed_[b];
    }
  }

  // Channel by channel.
  bool join(ValueId a, ValueId b) {
    if (a == kNoValue || b == kNoValue || channels(a) == 0 || channels(a) != channels(b))
      return false;
    join({a, b, 0, 0, channels(a)});
    return true;
  }

  bool read(const Node& node) {
    if (separates_channels(graph_, node)) return read_product(node);
    if (!is_homogeneous(node)) return false;
    if (is_sum(node)) return join_all(node.inputs, node.outputs[0]);
    if (is_op(node, "Mul")) return read_product_of_two(node);
    if (is_op(node, "Div")) return is_constant(node, 1) && join(node.inputs[0], node.outputs[0]);
    if (is_op(node, "Concat")) return read_parts(node, node.outputs[0], node.inputs);
    if (is_op(node, "Split")) return read_parts(node, node.inputs[0], node.outputs);
    if (is_op(node, "Slice")) return read_slice(node);
    return is_one_to_one(node) && join(node.inputs[0], node.outputs[0]);
  }

  // The result is free where nothing but weights and the bias makes it; what it reads is free in any case.
  bool read_product(const Node& node) {
    const ValueId result = node.outputs[0], residual = node.input(kConvResidual);
    const bool whole = is_homogeneous(node) && is_constant(node, kConvBias);
    if (!whole || (residual != kNoValue && !join(result, residual))) {
      fix(result);
      fix(residual);
    }
    return true;
  }

  bool join_all(const std::vector<ValueId>& inputs, ValueId result) {
    const auto fits = [&](ValueId id) {
      return id != kNoValue && channels(id) > 0 && channels(id) == channels(result);
    };
    if (!std::ranges::all_of(inputs, fits)) return false;
    for (ValueId id : inputs) join(result, id);
    return true;
  }

  // A constant factor, or a gate that is what it is.
  bool read_product_of_two(const Node& node) {
    ValueId x = node.inputs[0], gate = node.inputs[1];
    if (graph_.is_constant(x) || is_smaller(x, gate)) std::swap(x, gate);
    if (x == gate || graph_.is_constant(x)) return false;
    if (!graph_.is_constant(gate)) fix(gate);
    return join(x, node.outputs[0]);
  }

  // A gate has one value for all pixels, or stands fixed already.
  bool is_smaller(ValueId x, ValueId gate) {
    const Shape& a = graph_.value(x).type.shape;
    if (graph_.is_constant(gate)) return false;
    if (a.rank() == 4 && a[2] == 1 && a[3] == 1) return true;
    return channels(x) == 0 || fixed_[root(first_[x])];
  }

  static bool is_function_or_pool(const Node& node) {
    if (is_op(node, "Relu")) return true;
    if (is_op(node, "LeakyRelu")) return true;
    if (is_op(node, "Abs")) return true;
    if (is_op(node, "Identity")) return true;
    if (is_op(node, "MaxPool")) return true;
    return is_op(node, "AveragePool");
  }

  static bool is_reduction(const Node& node) {
    if (is_op(node, "ReduceMean")) return true;
    if (is_op(node, "ReduceSum")) return true;
    return is_op(node, "ReduceMax");
  }

  static bool is_sum(const Node& node) {
    if (is_op(node, "Add")) return true;
    if (is_op(node, "Sub")) return true;
    if (is_op(node, "Sum")) return true;
    if (is_op(node, "Max")) return true;
    return is_op(node, "Min");
  }

  // Slope, padding and scales are constant; a channel of the result follows from the same one of the input.
  bool is_one_to_one(const Node& node) const {
    if (is_function_or_pool(node)) return node.outputs.size() == 1;
    if (is_op(node, "PRelu")) return is_constant(node, 1);
    if (is_reduction(node)) return is_constant(node, 1) && reduces_pixels(node);
    if (is_op(node, "Resize")) return resizes_pixels(node);
    if (is_op(node, "Interpolate")) return resizes_pixels(node);
    if (is_op(node, "Transpose")) return keeps_channel_axis(node);
    return is_op(node, "Pad") && pads_pixels(node);
  }

  // The result has the channels of what is reduced, each of its own.
  bool reduces_pixels(const Node& node) const {
    return channels(node.outputs[0]) > 0 && channels(node.outputs[0]) == channels(node.inputs[0]);
  }

  // Samples and channels stay where they are: a scale of 1.03 moves 16 channels to as many others.
  bool resizes_pixels(const Node& node) const {
    const auto attributes = attributes_of<ResizeAttributes>(node);
    if (attributes.coordinate_transformation_mode == ResizeCoordinates::tf_crop_and_resize)
      return false;
    const std::vector<s64> axes = attributes.axes.value_or(std::vector<s64>{0, 1, 2, 3});
    for (size_t place = 0; place < axes.size(); ++place) {
      const s64 axis = axes[place] < 0 ? axes[place] + 4 : axes[place];
      if (axis <= kChannelAxis && !keeps_size(node, place, static_cast<int>(axis))) return false;
    }
    return true;
  }

  // The place-th of the scales or sizes is known to leave the axis alone.
  bool keeps_size(const Node& node, size_t place, int axis) const {
    const Tensor *scales = graph_.constant_input(node, 2), *sizes = graph_.constant_input(node, 3);
    const auto has = [&](const Tensor* list, Dtype dtype) {
      return list != nullptr && list->dtype() == dtype && std::ssize(list->shape().dims()) == 1 &&
             place < static_cast<size_t>(list->elements());
    };
    if (has(scales, Dtype::f32)) return scales->as<f32>()[place] == 1.0f;
    return has(sizes, Dtype::s64) &&
           attribute_of<&ResizeAttributes::keep_aspect_ratio_policy>(node) ==
               ResizePolicy::stretch &&
           sizes->as<s64>()[place] == graph_.value(node.inputs[0]).type.shape[axis];
  }

  static bool keeps_channel_axis(const Node& node) {
    const auto perm = attribute_of<&TransposeAttributes::perm>(node);
    return perm && perm->size() == 4 && (*perm)[0] == 0 && (*perm)[kChannelAxis] == kChannelAxis;
  }

  bool pads_pixels(const Node& node) const {
    const Tensor* pads = graph_.constant_input(node, 1);
    if (pads == nullptr || pads->dtype() != Dtype::s64 || pads->elements() != 8) return false;
    if (node.input(3) != kNoValue) return false;
    if (pads->as<s64>()[1] != 0 || pads->as<s64>()[5] != 0) return false;
    const Tensor* value = graph_.constant_input(node, 2);
    if (node.input(2) == kNoValue) return true;
    return value != nullptr && value->dtype() == Dtype::f32 && value->elements() == 1 &&
           value->as<f32>()[0] == 0.0f;
  }

  // Concat and Split: one value beside several parts of it, along the channels or along anything else.
  bool read_parts(const Node& node, ValueId whole, const std::vector<ValueId>& parts) {
    const s64 axis = attribute_of<&AxisAttributes::axis>(node);
    if (channels(whole) == 0) return false;
    if (axis != kChannelAxis && axis != kChannelAxis - 4) return join_all(parts, whole);
    size_t total = 0;
    for (ValueId id : parts) {
      if (channels(id) == 0) return false;
      total += channels(id);
    }
    if (total != channels(whole)) return false;
    size_t from = 0;
    for (ValueId id : parts) {
      join({whole, id, from, 0, channels(id)});
      from += channels(id);
    }
    return true;
  }

  // Of pixels, or of channels one after another.
  bool read_slice(const Node& node) {
    const Tensor *starts = graph_.constant_input(node, 1), *axes = graph_.constant_input(node, 3);
    const Tensor* steps = graph_.constant_input(node, 4);
    if (starts == nullptr || axes == nullptr || (node.input(4) != kNoValue && steps == nullptr))
      return false;
    for (const Tensor* list : {starts, axes, steps}) {
      if (list != nullptr && (list->dtype() != Dtype::s64 || list->elements() != axes->elements()))
        return false;
    }
    s64 from = 0;
    for (size_t i = 0; i < axes->as<s64>().size(); ++i) {
      const s64 axis = axes->as<s64>()[i];
      if (axis != kChannelAxis && axis != kChannelAxis - 4) continue;
      if (steps != nullptr && steps->as<s64>()[i] != 1) return false;
      from = starts->as<s64>()[i];
    }
    const auto of = static_cast<s64>(channels(node.inputs[0]));
    const auto count = static_cast<s64>(channels(node.outputs[0]));
    from = std::clamp<s64>(from < 0 ? from + of : from, 0, of);
    if (count == 0 || from + count > of) return false;
    join({node.inputs[0], node.outputs[0], static_cast<size_t>(from), 0,
          static_cast<size_t>(count)});
    return true;
  }

  const Graph& graph_;
  const std::vector<size_t>&first_, &counts_;
  std::vector<size_t> parent_;
  std::vector<bool> fixed_;
};

}  // namespace

bool separates_channels(const Graph& graph, const Node& node) {
  const bool transposed = is_op(node, "ConvTranspose");
  if (!is_op(node, "Conv") && !transposed) return false;
  const Tensor* weights = graph.constant_input(node, kConvWeights);
  const Tensor* bias = graph.constant_input(node, kConvBias);
  if (weights == nullptr || weights->dtype() != Dtype::f32 || weights->shape().rank() != 4)
    return false;
  return bias == nullptr || bias->dtype() == Dtype::f32;
}

ChannelClasses::ChannelClasses(const Graph& graph) {
  size_t total = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const TensorType& type = graph.value(id).type;
    const bool has =
        is_real_activation(graph, id) && type.shape.rank() == 4 && type.shape[kChannelAxis] > 0;
    first_.push_back(total);
    counts_.push_back(has ? static_cast<size_t>(type.shape[kChannelAxis]) : 0);
    total += counts_.back();
  }
  Finder finder(graph, first_, counts_, total);
  finder.run();
  std::vector<size_t> numbers(total, total);
  for (size_t slot = 0; slot < total; ++slot) {
    const size_t root = finder.root(slot);
    if (numbers[root] == total) {
      numbers[root] = fixed_.size();
      fixed_.push_back(finder.is_fixed(root));
    }
    classes_.push_back(numbers[root]);
  }
}

}  // namespace octet
