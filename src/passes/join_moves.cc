// SPDX-License-Identifier: Apache-2.0
// Transposes, Reshapes, Squeezes and Unsqueezes one behind another that only turn axes become one Transpose, or nothing: exporters join
// the batch and the heads of attention to turn the keys, and part them again. Where they part the last axis on the way, as heads are parted of the width of a
// model, a Reshape does that first and the Transpose the rest. Runs when types are known.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "passes/axis_parts.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

class MoveJoiner : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (u32 n = 0; n < graph_.nodes.size(); ++n) join(n);
    for (Node& node : graph_.nodes) {
      for (ValueId& id : node.inputs) id = source_of(id);
    }
    edit_.apply();
  }

 private:
  // Of values that a run of moves leaves as they are.
  ValueId source_of(ValueId id) const {
    const auto at = same_.find(id);
    return at == same_.end() ? id : at->second;
  }

  void join(u32 last) {
    if (!moves_axes(graph_.nodes[last])) return;
    std::vector<const Node*> moves{&graph_.nodes[last]};
    Found best;
    for (;;) {
      const ValueId from = moves.back()->inputs[0];
      if (const auto perm = perm_of(moves, AxisParts(graph_.value(from).type.shape)))
        best = {from, *perm, moves.size(), 0};
      else if (const auto parted = parted_by(moves, from); parted && saves(*parted, best))
        best = *parted;
      const Node* before = made_.contains(from) ? nullptr : producer_of(graph_, uses_, from);
      if (before == nullptr || !moves_axes(*before) || moves.size() == kMostMoves) break;
      moves.push_back(before);
    }
    if (best.count > 0) replace(graph_.nodes[last], best, moves);
  }

  struct Found {
    ValueId from = kNoValue;
    std::vector<s64> perm;
    size_t count = 0;  // of moves
    s64 inner = 0;     // of the last axis, which is two; 0: it is one
  };

  // How the moves, the last first, turn the axes; nothing where they do more.
  std::optional<std::vector<s64>> perm_of(const std::vector<const Node*>& moves,
                                          AxisParts parts) const {
    for (size_t i = moves.size(); i-- > 0;) {
      if (!parts.move(graph_, *moves[i])) return {};
    }
    return parts.perm();
  }

  // Whether fewer nodes are left of the same moves, of which `best` may have joined the last ones.
  static bool saves(const Found& parted, const Found& best) {
    const size_t joined = best.count == 0 ? 0 : best.inner == 0 ? 1 : 2;
    return parted.count - best.count + joined > 2;
  }

  // Where the last axis of `from` is first parted by a size that the result has, and the parts are turned: moves that only part it stay, without those
  // before them that undo each other.
  std::optional<Found> parted_by(const std::vector<const Node*>& moves, ValueId from) const {
    const Shape &source = graph_.value(from).type.shape,
                &result = graph_.value(moves[0]->outputs[0]).type.shape;
    if (source.is_unknown() || result.is_unknown() || result.rank() != source.rank() + 1) return {};
    for (int d = result.rank(); d-- > 0;) {
      const auto perm = perm_of(moves, AxisParts(source, result[d]));
      if (perm && !std::ranges::is_sorted(*perm))
        return Found{from, *perm, moves.size(), result[d]};
    }
    return {};
  }

  // The value with its last axis as two.
  ValueId parted(const Node& last, ValueId from, s64 inner) {
    const TensorType type = graph_.value(from).type;
    std::vector<s64> sizes(static_cast<size_t>(type.shape.rank() - 1), 0);  // as they are
    Shape shape;
    for (int d = 0; d + 1 < type.shape.rank(); ++d) shape.push_back(type.shape[d]);
    for (const s64 size : {type.shape[type.shape.rank() - 1] / inner, inner})
      sizes.push_back(size), shape.push_back(size);
    const ValueId constant =
        graph_.add_constant(last.name + ".sizes", Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes));
    Node part = node_beside(last, find_op("Reshape"), last.name + ".parts", {from, constant});
    part.outputs = {graph_.add_value(part.name, TensorType{type.dtype, shape})};
    const ValueId id = part.outputs[0];
    made_.insert(id);
    edit_.insert_before(static_cast<size_t>(&last - graph_.nodes.data()), std::move(part));
    return id;
  }

  void replace(Node& last, const Found& found, const std::vector<const Node*>& moves) {
    std::vector<s64> same(found.perm.size());
    std::iota(same.begin(), same.end(), s64{0});
    const bool turns = found.perm != same;
    if (!turns && uses_.is_output(last.outputs[0])) return;
    if ((turns && found.count == 1) || !rewrites_.allow()) return;
    if (!turns) {
      same_.emplace(last.outputs[0], source_of(found.from));
      return;
    }
    for (size_t i = 1; i < found.count; ++i) {
      if (uses_.only_consumer(moves[i]->outputs[0]) < 0) break;
      take_origins(last, graph_.nodes[static_cast<size_t>(moves[i] - graph_.nodes.data())]);
    }
    last.op = find_op("Transpose");
    const ValueId from = source_of(found.from);
    last.inputs = {found.inner == 0 ? from : parted(last, from, found.inner)};
    last.attrs = Attrs();
    set_attribute<&TransposeAttributes::perm>(last.attrs, found.perm);
  }

  // As prepend_origins(); but nobody else reads the earlier node, and in a long chain each would hold the names of all before it.
  static void take_origins(Node& node, Node& earlier) {
    std::vector<std::string> all = std::move(earlier.origins);
    all.insert(all.end(), std::move_iterator(node.origins.begin()),
               std::move_iterator(node.origins.end()));
    node.origins = std::move(all);
  }

  static constexpr size_t kMostMoves = 8;

  std::unordered_map<ValueId, ValueId> same_;
  std::unordered_set<ValueId> made_;
};

}  // namespace

void join_moves(Graph& graph, Rewrites& rewrites) { MoveJoiner(graph, rewrites).run(); }

}  // namespace octet
