// SPDX-License-Identifier: Apache-2.0
// The merging of patches between a Swin's stages, Slices of each second row and column of rows of channels that a Concat joins, is a Reshape, a Transpose and a
// Reshape: one copy in place of seven. Runs when types are known.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "ops/shared/axis_of.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

enum : int { kImage, kRows, kColumns, kChannels, kRank };

// Each second row and column, from the first or the second on.
struct PatchPhase {
  s64 row = -1, column = -1;
};

class PatchMerger : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      if (is_op(graph_.nodes[at_], "Concat")) merge(graph_.nodes[at_]);
    }
    edit_.apply();
  }

 private:
  struct Piece {
    ValueId image = kNoValue;
    PatchPhase phase;
    std::vector<const Node*> slices;  // the last first
  };

  const Tensor* ints(const Node& node, size_t i) const {
    const Tensor* values = graph_.constant_input(node, i);
    return values != nullptr && values->dtype() == Dtype::s64 ? values : nullptr;
  }

  // Halves axes in steps of 2, from 0 or 1 to the end, and nothing else.
  bool halve(const Node& slice, PatchPhase& phase) const {
    const Tensor *starts = ints(slice, 1), *axes = ints(slice, 3), *steps = ints(slice, 4);
    if (starts == nullptr || axes == nullptr) return false;
    if (starts->elements() != axes->elements()) return false;
    if (steps != nullptr && steps->elements() != axes->elements()) return false;
    const Shape &from = shape_of(slice.inputs[0]), &to = shape_of(slice.outputs[0]);
    if (from.is_unknown() || to.is_unknown() || from.rank() != kRank) return false;
    for (size_t i = 0; i < axes->as<s64>().size(); ++i) {
      const s64 along = axes->as<s64>()[i], start = starts->as<s64>()[i];
      const s64 step = steps == nullptr ? 1 : steps->as<s64>()[i];
      const int axis = static_cast<int>(along < 0 ? along + kRank : along);
      if (step == 1 && start == 0 && from[axis] > 0 && from[axis] == to[axis])
        continue;  // all of it
      if (step != 2 || start < 0 || start > 1 || (axis != kRows && axis != kColumns)) return false;
      s64& own = axis == kRows ? phase.row : phase.column;
      if (own >= 0 || from[axis] <= 0 || from[axis] % 2 != 0 || to[axis] * 2 != from[axis])
        return false;
      own = start;
    }
    return slice.input(4) == kNoValue || steps != nullptr;
  }

  std::optional<Piece> piece_of(ValueId id) const {
    Piece piece{id, {}, {}};
    while (piece.phase.row < 0 || piece.phase.column < 0) {
      const Node* slice = producer_of(graph_, uses_, piece.image);
      if (slice == nullptr || !is_op(*slice, "Slice") || !halve(*slice, piece.phase)) return {};
      piece.slices.push_back(slice);
      piece.image = slice->inputs[0];
    }
    return piece;
  }

  void merge(Node& concat) {
    constexpr size_t kPieces = 4;
    if (concat.inputs.size() != kPieces || shape_of(concat.outputs[0]).rank() != kRank) return;
    if (axis_of(concat, kRank) != kChannels) return;
    std::vector<Piece> pieces;
    for (const ValueId id : concat.inputs) {
      const std::optional<Piece> piece = piece_of(id);
      if (!piece || (!pieces.empty() && piece->image != pieces[0].image)) return;
      pieces.push_back(*piece);
    }
    // Which of a block's rows and columns the first half of the channels is of.
    bool columns_first = true, rows_first = true;
    for (s64 i = 0; i < std::ssize(pieces); ++i) {
      const PatchPhase& phase = pieces[static_cast<size_t>(i)].phase;
      columns_first = columns_first && phase.column == i / 2 && phase.row == i % 2;
      rows_first = rows_first && phase.row == i / 2 && phase.column == i % 2;
    }
    const Shape& image = shape_of(pieces[0].image);
    if ((!columns_first && !rows_first) || image[kChannels] <= 0 || !rewrites_.allow()) return;
    replace(concat, pieces, columns_first);
  }

  ValueId insert(Node node, const TensorType& type) {
    node.outputs = {graph_.add_value(node.name, type)};
    const ValueId id = node.outputs[0];
    edit_.insert_before(at_, std::move(node));
    return id;
  }
  ValueId add_sizes(const std::string& name, const std::vector<s64>& sizes) {
    return graph_.add_constant(name, Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes));
  }

  void replace(Node& concat, const std::vector<Piece>& pieces, bool columns_first) {
    const ValueId x = pieces[0].image;
    std::vector<const Node*> slices;  // those of rows are parts of two pieces
    for (const Piece& piece : pieces)
      slices.insert(slices.end(), piece.slices.begin(), piece.slices.end());
    std::ranges::sort(slices);
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
    for (size_t i = slices.size(); i-- > 0;) prepend_origins(concat, *slices[i]);
    const Shape image = shape_of(x);
    const Dtype dtype = graph_.value(x).type.dtype;
    const s64 rows = image[kRows] / 2, columns = image[kColumns] / 2, width = image[kChannels];
    Node blocks =
        node_beside(concat, find_op("Reshape"), concat.name + ".blocks",
                    {x, add_sizes(concat.name + ".block_sizes", {0, rows, 2, columns, 2, width})});
    const ValueId parted =
        insert(std::move(blocks), {dtype, Shape{image[kImage], rows, 2, columns, 2, width}});
    Node turn = node_beside(concat, find_op("Transpose"), concat.name + ".turn", {parted});
    set_attribute<&TransposeAttributes::perm>(turn.attrs, columns_first
                                                              ? std::vector<s64>{0, 1, 3, 4, 2, 5}
                                                              : std::vector<s64>{0, 1, 3, 2, 4, 5});
    const ValueId turned =
        insert(std::move(turn), {dtype, Shape{image[kImage], rows, columns, 2, 2, width}});
    concat.op = find_op("Reshape");
    concat.inputs = {turned, add_sizes(concat.name + ".sizes", {0, rows, columns, 4 * width})};
    concat.attrs = Attrs();
  }
};

}  // namespace

void merge_patches(Graph& graph, Rewrites& rewrites) { PatchMerger(graph, rewrites).run(); }

}  // namespace octet
