// SPDX-License-Identifier: Apache-2.0
// Products by constant weights treat each row of their left side by itself, so a Transpose that exchanges whole rows may stand on either side of them.
// nn.MultiheadAttention exchanges batch and length before its product of queries, keys and values, and back behind its last product. Such a Transpose sinks
// to the next one, or rises to the one before (raise_transpose.h), and the two become one (join_moves.cc); a residual then meets its product directly.
// Runs when types are known.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/attributes/moves.h"
#include "passes/axis_parts.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/raise_transpose.h"
#include "passes/row_products.h"

namespace octet {
namespace {

class TransposeSinker : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      Node& node = graph_.nodes[at_];
      if (is_op(node, "Transpose")) {
        if (!raiser_.raise(at_, rewrites_)) note(node);
      } else if (rows_.is_product(node) || rows_.is_bias(node)) {
        sink_rows(node);
      } else if (is_op(node, "Reshape")) {
        sink_reshape(node);
      } else if (is_op(node, "Gather")) {
        if (!sink_part(node)) pick_first(node);
      }
    }
    edit_.apply();
  }

 private:
  // A value that a node makes of `source` by this permutation.
  struct Transposed {
    ValueId source = kNoValue;
    std::vector<s64> perm;
    std::vector<std::string> origins;
  };

  // Whether the value's reader, past biases and moves, is a Transpose: another one before it costs nothing.
  bool leads_to_transpose(ValueId id) {
    for (size_t steps = 0; steps < kMostSteps; ++steps) {
      const Node* reader = rows_.reader_of(id);
      if (reader == nullptr || reader->outputs.size() != 1) return false;
      if (is_op(*reader, "Transpose")) return true;
      if (!rows_.is_bias(*reader) && !moves_axes(*reader)) return false;
      id = reader->outputs[0];
    }
    return false;
  }

  void note(const Node& node) {
    if (const auto perm = row_permutation(node);
        perm && rows_.reader_of(node.outputs[0]) != nullptr)
      transposed_[node.outputs[0]] = {node.inputs[0], *perm, node.origins};
  }

  // The shape of which `transposed` is the transpose.
  static Shape shape_before(const Shape& transposed, const std::vector<s64>& perm) {
    Shape shape = transposed;
    for (size_t d = 0; d < perm.size(); ++d)
      shape[static_cast<int>(perm[d])] = transposed[static_cast<int>(d)];
    return shape;
  }

  // The node computes a new value, and a Transpose behind it the value that the node gave before.
  void transpose_behind(Node& node, const Transposed& transposed) {
    const std::vector<s64>& perm = transposed.perm;
    const ValueId result = node.outputs[0];
    const Value& value = graph_.value(result);
    const ValueId own = graph_.add_value(
        value.name + ".rows", TensorType{value.type.dtype, shape_before(value.type.shape, perm)});
    node.outputs = {own};
    Node transpose = node_named_after(node, "Transpose", "turn", {own});
    set_attribute<&TransposeAttributes::perm>(transpose.attrs, perm);
    transpose.origins = transposed.origins;
    transpose.outputs = {result};
    edit_.insert_after(at_, std::move(transpose));
    transposed_[result] = {own, perm, transposed.origins};
  }

  void sink_rows(Node& node) {
    const size_t data = rows_.data_input(node);
    const auto at = transposed_.find(node.inputs[data]);
    if (at == transposed_.end() || rows_.reader_of(node.inputs[data]) != &node) return;
    if (shape_of(node.outputs[0]).rank() != std::ssize(at->second.perm)) return;
    if (!leads_to_transpose(node.outputs[0]) || !rewrites_.allow()) return;
    const Transposed transposed = at->second;
    node.inputs[data] = transposed.source;
    transpose_behind(node, transposed);
  }

  // A Reshape that splits the last axis.
  void sink_reshape(Node& node) {
    const auto at = transposed_.find(node.inputs[0]);
    if (at == transposed_.end() || rows_.reader_of(node.inputs[0]) != &node) return;
    const Shape &from = shape_of(node.inputs[0]), to = shape_of(node.outputs[0]);
    const int rows = from.rank() - 1;
    if (!same_first_axes(from, to, rows) || to.rank() <= from.rank()) return;
    if (from[rows] <= 0 || product_from(to, rows) != from[rows]) return;
    if (!leads_to_transpose(node.outputs[0]) || !rewrites_.allow()) return;
    Transposed transposed = at->second;
    transposed.perm.pop_back();
    for (s64 d = rows; d < to.rank(); ++d) transposed.perm.push_back(d);
    node.inputs[0] = transposed.source;
    node.inputs[1] = add_sizes(graph_, node, rows, to);
    node.attrs = Attrs();  // zeros keep sizes
    transpose_behind(node, transposed);
  }

  // A Gather of one index of an axis, whose result other moves transpose again.
  bool sink_part(Node& node) {
    if (!picks_one(node) || !leads_to_transpose(node.outputs[0])) return false;
    const std::optional<Transposed> whole = transposed_by(node.inputs[0]);
    if (!whole || !rewrites_.allow()) return false;
    pick(node, *whole);
    return true;
  }

  bool picks_one(const Node& node) const {
    const Tensor* index = is_op(node, "Gather") ? graph_.constant_input(node, 1) : nullptr;
    return index != nullptr && index->shape().rank() == 0;
  }

  // A Gather of one index of a Transpose of which nothing else is read: queries, keys and values of one product. Each is then transposed by itself.
  void pick_first(Node& node) {
    Node* whole = producer_of(graph_, uses_, node.inputs[0]);
    if (whole == nullptr || !is_op(*whole, "Transpose") || uses_.is_output(whole->outputs[0]))
      return;
    if (whole->outputs[0] != node.inputs[0] || !picks_one(node)) return;
    const auto perm = row_permutation(*whole);
    if (!perm || perm->size() < 4 || !is_picked(whole->outputs[0])) return;
    if (rewrites_.allow()) pick(node, {whole->inputs[0], *perm, whole->origins});
  }

  // Whether all that read a value take one index each of its first axis. Asked once of all its readers, which may be many.
  bool is_picked(ValueId whole) {
    const auto [at, fresh] = picked_.emplace(whole, false);
    if (!fresh) return at->second;
    at->second = std::ranges::all_of(uses_.consumers(whole), [&](u32 n) {
      const Node& reader = graph_.nodes[n];
      if (reader.op->traits->reads_types_only) return true;
      if (!picks_one(reader)) return false;
      const bool picked_before = reader.input(0) != whole;
      return picked_before || attribute_of<&AxisAttributes::axis>(reader) == 0;
    });
    return at->second;
  }

  // One index of the source of `whole`, and a Transpose of the remaining axes behind it.
  void pick(Node& node, const Transposed& whole) {
    Transposed part = whole;
    const s64 axis = attribute_of<&AxisAttributes::axis>(node), rank = std::ssize(part.perm);
    const auto at = part.perm.begin() + (axis < 0 ? axis + rank : axis);
    const s64 own = *at;
    part.perm.erase(at);
    for (s64& other : part.perm) other -= other > own ? 1 : 0;
    node.inputs[0] = part.source;
    set_attribute<&AxisAttributes::axis>(node.attrs, own);
    transpose_behind(node, part);
  }

  // The value as a permutation of an earlier one, through the moves between them; the earliest that is known.
  std::optional<Transposed> transposed_by(ValueId id) const {
    std::vector<const Node*> moves;  // the last first
    std::optional<Transposed> transposed;
    while (moves.size() < kMostSteps) {
      if (std::optional<Transposed> whole = transposed_behind(id, moves))
        transposed = std::move(whole);
      const Node* before = producer_of(graph_, uses_, id);
      if (before == nullptr || !moves_axes(*before) || before->outputs[0] != id) break;
      moves.push_back(before);
      id = before->inputs[0];
    }
    return transposed;
  }

  std::optional<Transposed> transposed_behind(ValueId id,
                                              const std::vector<const Node*>& moves) const {
    const auto at = transposed_.find(id);
    if (at == transposed_.end()) return {};
    AxisParts parts(shape_of(id));
    for (size_t i = moves.size(); i-- > 0;) {
      if (!parts.move(graph_, *moves[i])) return {};
    }
    const std::optional<std::vector<s64>> perm = parts.perm();
    if (!perm) return {};
    Transposed transposed{at->second.source, {}, at->second.origins};
    for (const s64 axis : *perm)
      transposed.perm.push_back(at->second.perm[static_cast<size_t>(axis)]);
    return transposed;
  }

  static constexpr size_t kMostSteps = 8;

  RowProducts rows_{graph_, uses_};
  TransposeRaiser raiser_{graph_, uses_, rows_, edit_};
  std::unordered_map<ValueId, Transposed> transposed_;
  std::unordered_map<ValueId, bool> picked_;
};

}  // namespace

void sink_transposes(Graph& graph, Rewrites& rewrites) { TransposeSinker(graph, rewrites).run(); }

}  // namespace octet
