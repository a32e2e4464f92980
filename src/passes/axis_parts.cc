// SPDX-License-Identifier: Apache-2.0
#include "passes/axis_parts.h"

#include <algorithm>
#include <limits>

#include "graph/op_traits.h"
#include "ops/attributes/moves.h"
#include "passes/match.h"

namespace octet {
namespace {

// Sizes of which equal ones are the same. Of a value and what moves its elements, one size that is only known to be dynamic is what the
// others leave of all elements: it gets a number of its own for each product of them. Nothing where that does not tell, or nothing is there.
std::optional<std::vector<s64>> sizes_of(const Shape& shape) {
  constexpr s64 kMost = s64{1} << 40;
  if (shape.is_unknown()) return {};
  s64 product = 1, open = 0, numbered = 0;
  for (const s64 dim : shape.dims()) {
    open += dim == Shape::kDynamic ? 1 : 0;
    numbered += dim < Shape::kDynamic ? 1 : 0;
    if (dim < 0) continue;
    if (dim == 0 || product > kMost / dim) return {};
    product *= dim;
  }
  if (open > 1 || (open == 1 && numbered > 0)) return {};
  std::vector<s64> sizes(shape.dims().begin(), shape.dims().end());
  std::ranges::replace(sizes, Shape::kDynamic, std::numeric_limits<s64>::min() + product);
  return sizes;
}

}  // namespace

bool moves_axes(const Node& node) {
  return node.op->traits->permutes && node.outputs.size() == 1 && !node.inputs.empty() &&
         node.inputs[0] != kNoValue;
}

std::vector<s64> reshape_sizes(const Shape& shape) {
  std::vector<s64> sizes(shape.dims().begin(), shape.dims().end());
  sizes[0] = std::max<s64>(sizes[0], -1);
  return sizes;
}

AxisParts::AxisParts(const Shape& shape) {
  const std::optional<std::vector<s64>> sizes = sizes_of(shape);
  known_ = sizes.has_value();
  if (known_) first_ = *sizes;
  for (size_t d = 0; d < first_.size(); ++d) {
    axes_.push_back({{}, first_[d]});
    if (first_[d] != 1) axes_.back().parts.push_back(static_cast<int>(d));
  }
}

AxisParts::AxisParts(const Shape& shape, s64 inner) : AxisParts(shape) {
  const s64 whole = axes_.empty() ? 0 : axes_.back().size;
  known_ = known_ && inner > 1 && whole > inner && whole % inner == 0;
  if (!known_) return;
  first_.back() = whole / inner;
  axes_.back().parts.push_back(static_cast<int>(first_.size()));
  first_.push_back(inner);
}

bool AxisParts::move(const Graph& graph, const Node& node) {
  if (!known_ || !moves_axes(node)) return false;
  if (!is_op(node, "Transpose")) {
    const std::optional<std::vector<s64>> to = sizes_of(graph.value(node.outputs[0]).type.shape);
    return to && reshape(*to);
  }
  std::vector<s64> perm;
  for (s64 i = rank(); i-- > 0;) perm.push_back(i);
  perm = attribute_of<&TransposeAttributes::perm>(node).value_or(perm);
  if (perm.size() != axes_.size()) return false;
  std::vector<Axis> turned;
  for (const s64 axis : perm) turned.push_back(axes_[static_cast<size_t>(axis)]);
  axes_ = std::move(turned);
  return true;
}

// Elements keep their order: axes that are equal from either end are the same, and what lies between is joined or parted.
bool AxisParts::reshape(const std::vector<s64>& to) {
  size_t first = 0, last = axes_.size(), to_last = to.size();
  while (first < last && first < to_last && axes_[first].size == to[first]) ++first;
  while (last > first && to_last > first && axes_[last - 1].size == to[to_last - 1])
    --last, --to_last;
  std::vector<Axis> made(axes_.begin(), axes_.begin() + static_cast<s64>(first));
  const std::vector<s64> sizes(to.begin() + static_cast<s64>(first),
                               to.begin() + static_cast<s64>(to_last));
  const std::vector<Axis> between(axes_.begin() + static_cast<s64>(first),
                                  axes_.begin() + static_cast<s64>(last));
  if (!group(between, sizes, made)) return false;
  made.insert(made.end(), axes_.begin() + static_cast<s64>(last), axes_.end());
  axes_ = std::move(made);
  return true;
}

// Axes that make up the others, in order: from either end those that are equal, and between them all that are left make one.
bool AxisParts::group(const std::vector<Axis>& from, const std::vector<s64>& to,
                      std::vector<Axis>& made) const {
  std::vector<int> parts;
  for (const Axis& axis : from) parts.insert(parts.end(), axis.parts.begin(), axis.parts.end());
  std::vector<Axis> whole;
  for (const s64 dim : to) whole.push_back({{}, dim});
  const auto is_next = [&](size_t part, s64 dim) {
    return first_[static_cast<size_t>(parts[part])] == dim;
  };
  size_t next = 0, left = parts.size(), d = 0, last = to.size();
  for (; d < last && (to[d] == 1 || (next < left && is_next(next, to[d]))); ++d) {
    if (to[d] != 1) whole[d].parts = {parts[next++]};
  }
  for (; last > d && (to[last - 1] == 1 || (left > next && is_next(left - 1, to[last - 1])));
       --last) {
    if (to[last - 1] != 1) whole[last - 1].parts = {parts[--left]};
  }
  if (last - d > 1 || (last == d) != (next == left)) return false;
  if (last > d)
    whole[d].parts.assign(parts.begin() + static_cast<s64>(next),
                          parts.begin() + static_cast<s64>(left));
  made.insert(made.end(), whole.begin(), whole.end());
  return true;
}

std::optional<std::vector<s64>> AxisParts::perm() const {
  if (!known_ || axes_.size() != first_.size()) return {};
  std::vector<s64> perm, ones;
  for (size_t d = 0; d < first_.size(); ++d)
    if (first_[d] == 1) ones.push_back(static_cast<s64>(d));
  size_t next = 0;
  for (const Axis& axis : axes_) {
    if (axis.parts.size() > 1) return {};
    if (axis.parts.empty() && next == ones.size()) return {};
    perm.push_back(axis.parts.empty() ? ones[next++] : s64{axis.parts[0]});
  }
  return perm;
}

}  // namespace octet
