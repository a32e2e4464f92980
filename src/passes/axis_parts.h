// SPDX-License-Identifier: Apache-2.0
// What becomes of the axes of a value behind operators that only move its elements: each axis of the result is made of some axes of the
// first value, as long as no axis of that is parted.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace octet {

// Transpose, Reshape and its kin: the elements of input 0 in another order, or with other axes.
bool moves_axes(const Node& node);
// What a Reshape is told to give this shape, of which the first axis alone may be open.
std::vector<s64> reshape_sizes(const Shape& shape);

// Sizes of one number are equal (passes/infer_types.h); of those that are only known to be dynamic there may be one in each shape.
class AxisParts {
 public:
  explicit AxisParts(const Shape& shape);
  // Of a value whose last axis is two, `inner` the size of the second: axes of the first value are then those.
  AxisParts(const Shape& shape, s64 inner);

  // Behind one more node; false where it does something else to the axes.
  bool move(const Graph& graph, const Node& node);
  int rank() const { return static_cast<int>(axes_.size()); }
  // The axes of the first value, of more than one element, that an axis of the result is made of, in their order.
  const std::vector<int>& parts(int axis) const { return axes_[static_cast<size_t>(axis)].parts; }
  // The axes of the result as those of the first value, if it has each once.
  std::optional<std::vector<s64>> perm() const;

 private:
  struct Axis {
    std::vector<int> parts;
    s64 size = 0;
  };

  bool reshape(const std::vector<s64>& to);
  bool group(const std::vector<Axis>& from, const std::vector<s64>& to,
             std::vector<Axis>& made) const;

  std::vector<s64> first_;
  bool known_ = true;
  std::vector<Axis> axes_;
};

}  // namespace octet
