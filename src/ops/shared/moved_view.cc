// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/moved_view.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "ops/shared/permutation.h"

namespace octet {
namespace {

constexpr std::array<std::string_view, 5> kReshapes = {"Flatten", "Identity", "Reshape", "Squeeze",
                                                       "Unsqueeze"};

bool is_reshape(const Node& node) {
  return std::ranges::find(kReshapes, node.op->name) != kReshapes.end();
}

// Axes of a view that are one where they lie one behind another, the last first; those of size 1 are left out.
struct Axis {
  s64 size, stride;
};
std::vector<Axis> merged_axes(const StridedView& view) {
  std::vector<Axis> axes;
  for (int d = view.shape.rank(); d-- > 0;) {
    const Axis axis{view.shape[d], view.strides[static_cast<size_t>(d)]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axis.stride == axes.back().size * axes.back().stride) {
      axes.back().size *= axis.size;
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

// Each axis of the shape is a part of one of the view's.
std::optional<StridedView> reshaped(const StridedView& view, const Shape& shape) {
  std::vector<Axis> axes = merged_axes(view);
  StridedView result{shape, std::vector<s64>(static_cast<size_t>(shape.rank()), 0), view.offset};
  size_t at = 0;
  for (int d = shape.rank(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (at == axes.size() || axes[at].size % shape[d] != 0) return {};
    result.strides[static_cast<size_t>(d)] = axes[at].stride;
    axes[at].size /= shape[d], axes[at].stride *= shape[d];
    if (axes[at].size == 1) ++at;
  }
  return result;
}

StridedView transposed(const std::vector<int>& perm, const StridedView& view) {
  StridedView result{.shape = {}, .strides = {}, .offset = view.offset};
  for (const int axis : perm) {
    result.shape.push_back(view.shape[axis]);
    result.strides.push_back(view.strides[static_cast<size_t>(axis)]);
  }
  return result;
}

// From `first` on along an axis, with the sizes of `shape`, of the view's rank.
StridedView part(const StridedView& view, int axis, s64 first, const Shape& shape) {
  return {shape, view.strides, view.offset + first * view.strides[static_cast<size_t>(axis)]};
}

StridedView split(const Graph& graph, const Node& node, size_t output, const StridedView& view) {
  const int axis = axis_of(node, view.shape.rank());
  s64 first = 0;
  for (size_t i = 0; i < output; ++i) first += graph.value(node.outputs[i]).type.shape[axis];
  return part(view, axis, first, graph.value(node.outputs[output]).type.shape);
}

std::optional<StridedView> gathered(const Graph& graph, const Node& node, const StridedView& view) {
  const Tensor* index = graph.constant_input(node, 1);
  if (index == nullptr || index->elements() != 1) return {};
  const int axis = axis_of(node, view.shape.rank());
  const s64 size = view.shape[axis],
            wanted = index->dtype() == Dtype::s32 ? index->as<s32>()[0] : index->as<s64>()[0];
  const s64 at = wanted < 0 ? wanted + size : wanted;
  if (at < 0 || at >= size) return {};
  Shape shape = view.shape;
  shape[axis] = 1;
  return reshaped(part(view, axis, at, shape), graph.value(node.outputs[0]).type.shape);
}

}  // namespace

StridedView dense_view(const Shape& shape) { return {shape, dense_strides(shape), 0}; }

bool makes_views(const Node& node) {
  const std::string_view op = node.op->name;
  return is_reshape(node) || op == "Transpose" || op == "Split" || op == "Gather";
}

std::optional<StridedView> view_behind(const Graph& graph, const Node& node, size_t output,
                                       const StridedView& input) {
  const Shape& shape = graph.value(node.outputs[output]).type.shape;
  if (!shape.is_static() || shape.elements() == 0) return {};
  const std::string_view op = node.op->name;
  if (op == "Transpose") return transposed(permutation_of(node, input.shape.rank()), input);
  if (op == "Split") return split(graph, node, output, input);
  if (op == "Gather") return gathered(graph, node, input);
  return is_reshape(node) ? reshaped(input, shape) : std::optional<StridedView>();
}

std::optional<StridedView> reshaped_view(const StridedView& view, const Shape& shape) {
  return reshaped(view, shape);
}

std::optional<StridedView> view_before(const Graph& graph, const Node& node,
                                       const StridedView& output) {
  const Shape& shape = graph.value(node.inputs[0]).type.shape;
  if (!shape.is_static() || shape.elements() == 0) return {};
  if (is_reshape(node)) return reshaped(output, shape);
  if (node.op->name != "Transpose") return {};
  const std::vector<int> perm = permutation_of(node, shape.rank());
  std::vector<int> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  return transposed(inverse, output);
}

}  // namespace octet
