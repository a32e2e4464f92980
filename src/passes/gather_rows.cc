// SPDX-License-Identifier: Apache-2.0
// Rolls of an image along its axes (a Concat of two Slices that change places), and the Reshapes and Transposes around them, where all that they do is to
// put the rows of each image in another order: one Gather of rows. Swin's shifted windows are so, on their way in and on their way back. Runs when types
// are known.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "ops/shared/axis_of.h"
#include "passes/axis_parts.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

constexpr s64 kMostRows = 1 << 16;  // of an image
constexpr size_t kMostMoves = 16;

// y[i] = x[(i + first) % n] along one axis.
struct Roll {
  ValueId x = kNoValue;
  int axis = 0;
  s64 first = 0;
};

// The rows of an image in some order. Axes: all but the last, which is that of a row; the first one is an image's part of it.
struct Rows {
  std::vector<s64> axes;
  std::vector<s64> from;  // which row of the first value each is
};

class RowGatherer : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (u32 n = static_cast<u32>(graph_.nodes.size()); n-- > 0;) {
      if (!taken_.contains(n)) gather(n);
    }
    edit_.apply();
  }

 private:
  std::optional<s64> only_number(const Node& node, size_t i) const {
    const Tensor* values = graph_.constant_input(node, i);
    if (values == nullptr || values->dtype() != Dtype::s64 || values->elements() != 1) return {};
    return values->as<s64>()[0];
  }

  // A Slice along one axis in steps of 1: where it begins.
  std::optional<s64> start_of(const Node& slice, int axis) const {
    const Shape& from = shape_of(slice.inputs[0]);
    const std::optional<s64> start = only_number(slice, 1), along = only_number(slice, 3);
    if (!start || !along || (slice.input(4) != kNoValue && only_number(slice, 4) != 1)) return {};
    if ((*along < 0 ? *along + from.rank() : *along) != axis) return {};
    const s64 dim = from[axis];
    return std::clamp<s64>(*start < 0 ? *start + dim : *start, 0, dim);
  }

  std::optional<Roll> roll_of(const Node& concat) const {
    if (!is_op(concat, "Concat") || concat.inputs.size() != 2) return {};
    const Shape& whole = shape_of(concat.outputs[0]);
    if (whole.is_unknown() || whole.rank() < 3) return {};
    const int axis = axis_of(concat, whole.rank());
    const Node* parts[2];
    for (size_t i = 0; i < 2; ++i) {
      parts[i] = producer_of(graph_, uses_, concat.inputs[i]);
      if (parts[i] == nullptr || !is_op(*parts[i], "Slice")) return {};
      if (uses_.only_consumer(concat.inputs[i]) < 0) return {};
    }
    const ValueId x = parts[0]->inputs[0];
    if (parts[1]->inputs[0] != x || shape_of(x) != whole || whole[axis] <= 0) return {};
    const std::optional<s64> first = start_of(*parts[0], axis), second = start_of(*parts[1], axis);
    if (!first || second != 0) return {};
    const bool changes_places = shape_of(concat.inputs[0])[axis] == whole[axis] - *first &&
                                shape_of(concat.inputs[1])[axis] == *first;
    return changes_places ? std::optional(Roll{x, axis, *first}) : std::nullopt;
  }

  // Whether nobody but `reader`, or the two Slices of a roll, reads the value.
  bool is_read_here(ValueId id, const Node& reader) const {
    if (uses_.is_output(id)) return false;
    const size_t readers = is_op(reader, "Concat") ? 2 : 1;
    return uses_.consumers(id).size() == readers;
  }

  // The node's data where it is a move of this pass.
  ValueId moved_by(const Node& node) const {
    if (moves_axes(node)) return node.inputs[0];
    const std::optional<Roll> roll = roll_of(node);
    return roll ? roll->x : kNoValue;
  }

  // How many rows an image has: those of the value that has most behind its first axis. 0: a value has no rows of one width, or sizes are not known.
  s64 rows_of_image(const std::vector<ValueId>& values) const {
    const Shape& first = shape_of(values[0]);
    if (first.is_unknown() || first.rank() < 2) return 0;
    s64 most = 0;
    const s64 width = first[first.rank() - 1];
    for (const ValueId id : values) {
      const s64 rows = rows_behind_first(id, width);
      if (rows == 0) return 0;
      most = std::max(most, rows);
    }
    return most;
  }
  s64 rows_behind_first(ValueId id, s64 width) const {
    const Shape& shape = shape_of(id);
    if (shape.is_unknown() || shape.rank() < 2 || shape[shape.rank() - 1] != width) return 0;
    s64 rows = 1;
    for (int d = 1; d + 1 < shape.rank(); ++d) {
      if (shape[d] <= 0 || rows > kMostRows / shape[d]) return 0;
      rows *= shape[d];
    }
    return width > 0 ? rows : 0;
  }

  // An image's axes of a value, without that of a row; nothing where images are parted.
  std::optional<std::vector<s64>> axes_of(ValueId id, s64 rows) const {
    const Shape& shape = shape_of(id);
    const s64 behind = rows_behind_first(id, shape[shape.rank() - 1]);
    if (rows % behind != 0) return {};
    std::vector<s64> axes{rows / behind};
    if (shape[0] >= 0 && shape[0] % axes[0] != 0) return {};
    for (int d = 1; d + 1 < shape.rank(); ++d) axes.push_back(shape[d]);
    return axes;
  }

  static void turn(Rows& rows, const std::vector<s64>& perm) {
    std::vector<s64> steps(rows.axes.size(), 1), to;
    for (size_t d = steps.size() - 1; d-- > 0;) steps[d] = steps[d + 1] * rows.axes[d + 1];
    Rows turned{{}, std::vector<s64>(rows.from.size())};
    for (const s64 axis : perm) turned.axes.push_back(rows.axes[static_cast<size_t>(axis)]);
    std::vector<s64> at(perm.size(), 0);
    for (s64& from : turned.from) {
      s64 place = 0;
      for (size_t d = 0; d < at.size(); ++d) place += at[d] * steps[static_cast<size_t>(perm[d])];
      from = rows.from[static_cast<size_t>(place)];
      for (size_t d = at.size(); d-- > 0 && ++at[d] == turned.axes[d];) at[d] = 0;
    }
    rows = std::move(turned);
  }

  static void roll(Rows& rows, const Roll& roll) {
    s64 inner = 1;
    const size_t axis = static_cast<size_t>(roll.axis);
    for (size_t d = axis + 1; d < rows.axes.size(); ++d) inner *= rows.axes[d];
    const s64 size = rows.axes[axis];
    const std::vector<s64> before = rows.from;
    for (s64 i = 0; i < std::ssize(before); ++i) {
      const s64 along = i / inner % size, moved = (along + roll.first) % size;
      rows.from[static_cast<size_t>(i)] = before[static_cast<size_t>(i + (moved - along) * inner)];
    }
  }

  bool apply(const Node& node, s64 image, Rows& rows) const {
    if (const std::optional<Roll> found = roll_of(node)) {
      const bool of_rows = found->axis > 0 && found->axis + 1 < shape_of(found->x).rank();
      if (of_rows) roll(rows, *found);
      return of_rows;
    }
    if (!is_op(node, "Transpose")) {
      const std::optional<std::vector<s64>> axes = axes_of(node.outputs[0], image);
      if (axes) rows.axes = *axes;
      return axes.has_value();
    }
    const auto perm = attribute_of<&TransposeAttributes::perm>(node);
    if (!perm || perm->size() != rows.axes.size() + 1) return false;
    if (perm->front() != 0 || perm->back() != std::ssize(*perm) - 1) return false;
    turn(rows, {perm->begin(), perm->end() - 1});
    return true;
  }

  // The order of rows that moves, the last first, make of those of the value that the first one reads.
  std::optional<std::vector<s64>> order_of(const std::vector<u32>& moves, ValueId from,
                                           s64 image) const {
    const std::optional<std::vector<s64>> axes = axes_of(from, image);
    if (!axes) return {};
    Rows rows{*axes, std::vector<s64>(static_cast<size_t>(image))};
    std::iota(rows.from.begin(), rows.from.end(), s64{0});
    for (size_t i = moves.size(); i-- > 0;) {
      if (!apply(graph_.nodes[moves[i]], image, rows)) return {};
    }
    return rows.from;
  }

  void gather(u32 last) {
    std::vector<u32> moves;
    std::vector<ValueId> values{graph_.nodes[last].outputs.empty() ? kNoValue
                                                                   : graph_.nodes[last].outputs[0]};
    for (s32 n = static_cast<s32>(last); n >= 0 && moves.size() < kMostMoves;) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      const ValueId from = moved_by(node);
      if (from == kNoValue || shape_of(from).is_unknown() || shape_of(from).rank() < 2) break;
      values.push_back(from);
      if (rows_of_image(values) == 0) {
        values.pop_back();
        break;
      }
      moves.push_back(static_cast<u32>(n));
      if (!is_read_here(from, node)) break;
      n = uses_.producer(from);
    }
    const auto rolls = [&](u32 n) { return is_op(graph_.nodes[n], "Concat"); };
    for (; std::ranges::any_of(moves, rolls); moves.pop_back(), values.pop_back()) {
      const s64 image = rows_of_image(values);
      if (!may_fold(image * std::ssize(moves), graph_.nodes[last])) return;
      const auto order = order_of(moves, values.back(), image);
      if (!order) continue;
      if (rewrites_.allow()) replace(moves, values, *order);
      return;
    }
  }

  // [images, rows of an image, a row].
  Shape shape_of_images(const std::vector<ValueId>& values, s64 image) const {
    for (const ValueId id : values) {
      const Shape& shape = shape_of(id);
      const s64 width = shape[shape.rank() - 1];
      if (rows_behind_first(id, width) == image) return Shape{shape[0], image, width};
    }
    return {};
  }

  ValueId insert(u32 at, Node node, const TensorType& type) {
    node.outputs = {graph_.add_value(node.name, type)};
    const ValueId id = node.outputs[0];
    edit_.insert_before(at, std::move(node));
    return id;
  }
  ValueId add_list(const std::string& name, const std::vector<s64>& values) {
    return graph_.add_constant(name, Tensor::of<s64>(Shape{std::ssize(values)}, values));
  }

  void replace(const std::vector<u32>& moves, const std::vector<ValueId>& values,
               const std::vector<s64>& order) {
    const u32 at = moves[0];
    for (size_t i = 0; i < moves.size(); ++i) {
      const Node& move = graph_.nodes[moves[i]];
      if (i > 0) prepend_origins(graph_.nodes[at], move);
      if (!is_op(move, "Concat")) continue;
      for (const size_t part : {size_t{1}, size_t{0}})
        prepend_origins(graph_.nodes[at], *producer_of(graph_, uses_, move.inputs[part]));
    }
    taken_.insert(moves.begin(), moves.end());
    Node& last = graph_.nodes[at];
    const TensorType type{graph_.value(values.back()).type.dtype,
                          shape_of_images(values, std::ssize(order))};
    ValueId x = values.back();
    if (shape_of(x) != type.shape) {
      const ValueId sizes = add_list(last.name + ".image_sizes", reshape_sizes(type.shape));
      x = insert(at, node_beside(last, find_op("Reshape"), last.name + ".images", {x, sizes}),
                 type);
    }
    Node rows = node_beside(last, find_op("Gather"), last.name + ".rows",
                            {x, add_list(last.name + ".order", order)});
    set_attribute<&AxisAttributes::axis>(rows.attrs, 1);
    x = insert(at, std::move(rows), type);
    last.op = find_op("Reshape");
    last.inputs = {x, add_list(last.name + ".sizes", reshape_sizes(shape_of(values[0])))};
    last.attrs = Attrs();
  }

  std::unordered_set<u32> taken_;
};

}  // namespace

void gather_rows(Graph& graph, Rewrites& rewrites) { RowGatherer(graph, rewrites).run(); }

}  // namespace octet
