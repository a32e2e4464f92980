// SPDX-License-Identifier: Apache-2.0
#include "plan/growing_rows.h"

#include <algorithm>
#include <numeric>

#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "plan/growing_graph.h"

namespace octet {
namespace {

void check_cut(const GrowingLengths& at, const Node& node, const Cut& cut, bool result_grows) {
  const ValueId x = node.inputs[0];
  if (result_grows && (cut.least != 0 || cut.most != 0))
    refuse_growing(node, "cuts rows that grow behind the first");
  // What is cut off is in use for one length and not for another.
  const bool whole = at.type(x).shape[cut.axis] == at.type(node.outputs[0]).shape[cut.axis];
  if (result_grows && at.axis(x) == cut.axis && !whole)
    refuse_growing(node, "cuts off rows that grow");
  if (cut.least != cut.most && cut.most - cut.least != at.lengths())
    refuse_growing(node, "cuts rows at a place that does not move with the length");
}

}  // namespace

void check_apart(const GrowingLengths& at, const Node& node, s64 from, bool splits) {
  const ValueId x = node.inputs[0];
  const int axis = at.axis(x);
  const int own = normalize_axis(from, at.type(x).shape.rank());
  if (axis < 0 || axis == own || (axis > own && !splits))
    refuse_growing(node, "computes along the axis that grows");
}

bool count_from_first(const GrowingLengths& at, ValueId indices) {
  const std::vector<s64> least = at.least_ints(indices), most = at.most_ints(indices);
  const auto counts = [](s64 index) { return index >= 0; };
  return !most.empty() && std::ranges::all_of(least, counts) && std::ranges::all_of(most, counts) &&
         at.dependence(indices) != Dependence::other;
}

bool scatters_to_own_rows(const GrowingLengths& at, const Node& node) {
  const ValueId x = node.inputs[0], indices = node.inputs[1];
  const int axis = at.axis(x), along = at.axis(indices);
  const Shape& shape = at.type(indices).shape;
  const int last = shape.rank() - 1;
  const bool fits = axis >= 0 && along >= 0 && along < last && at.is_settled(indices) &&
                    at.axis(node.inputs[2]) >= 0 && axis < shape[last];
  if (!fits || attribute_of<&ScatterAttributes::reduction>(node) != ScatterReduction::none)
    return false;
  const std::vector<s64> places = at.most_ints(indices);
  const s64 behind = dims_product(shape, along + 1, last), width = shape[last];
  for (size_t i = 0; i < places.size(); i += static_cast<size_t>(width)) {
    const s64 row = static_cast<s64>(i) / width / behind % shape[along];
    if (places[i + static_cast<size_t>(axis)] != row) return false;
  }
  return true;
}

std::vector<Cut> cuts_of(const GrowingLengths& at, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const Shape &least = at.shape_of_least(x), &most = at.type(x).shape;
  const std::vector<s64> first = at.least_ints(node.input(1)), last = at.most_ints(node.input(1));
  std::vector<s64> axes = at.most_ints(node.input(3));
  if (node.input(3) == kNoValue) {
    axes.resize(first.size());
    std::iota(axes.begin(), axes.end(), s64{0});
  }
  const std::vector<s64> steps = at.most_ints(node.input(4));
  const bool ones = std::ranges::all_of(steps, [](s64 step) { return step == 1; });
  const bool evenly = at.counts(node.input(1)) && at.counts(node.input(2)) &&
                      at.dependence(node.input(3)) == Dependence::fixed &&
                      at.dependence(node.input(4)) == Dependence::fixed;
  const bool known =
      evenly && !first.empty() && first.size() == last.size() && axes.size() == first.size();
  if (!known || !ones || at.least_ints(node.input(2)).empty() ||
      at.axis(x) == GrowingLengths::kManyAxes)
    refuse_growing(node, "cuts rows at places that are not known");
  std::vector<Cut> cuts;
  const std::vector<int> places = normalize_axes(axes, most.rank());
  for (size_t i = 0; i < places.size(); ++i) {
    const int axis = places[i];
    const auto begin = [&](s64 place, s64 dim) {
      return std::clamp<s64>(place < 0 ? place + dim : place, 0, dim);
    };
    cuts.push_back({axis, begin(first[i], least[axis]), begin(last[i], most[axis])});
    check_cut(at, node, cuts.back(), at.axis(y) == axis);
  }
  return cuts;
}

}  // namespace octet
