// SPDX-License-Identifier: Apache-2.0
// Products by constant weights treat the rows of their left side each by itself, so a Transpose that turns rows alone may stand on either side of them.
// nn.MultiheadAttention turns batch and length before its product of queries, keys and values and back behind its last one: there such a Transpose goes on
// to the next one, or back to the one before, with which it becomes one (join_moves.cc). A residual then meets its product directly. Runs when types are known.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "passes/axis_parts.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

// The same rows in the same order: the first `axes` dimensions are equal, at most one of them is unknown.
bool same_first_axes(const Shape& a, const Shape& b, int axes) {
  if (a.is_unknown() || b.is_unknown() || a.rank() < axes || b.rank() < axes) return false;
  int unknown = 0;
  for (int d = 0; d < axes; ++d) {
    if (a[d] != b[d] || a[d] == 0) return false;
    if (a[d] == Shape::kDynamic) ++unknown;
  }
  return unknown <= 1;
}

// Of the dimensions from `first` on; 0 where one is not known.
s64 product_from(const Shape& shape, int first) {
  s64 product = 1;
  for (int d = first; d < shape.rank(); ++d) product *= std::max<s64>(shape[d], 0);
  return product;
}

class TurnSinker : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      Node& node = graph_.nodes[at_];
      if (is_op(node, "Transpose")) {
        if (!raise(node)) note(node);
      } else if (is_product_of_rows(node) || is_sum_of_rows(node)) {
        sink_rows(node);
      } else if (is_op(node, "Reshape")) {
        sink_parting(node);
      } else if (is_op(node, "Gather")) {
        if (!sink_part(node)) pick_first(node);
      }
    }
    edit_.apply();
  }

 private:
  // A value that is `source` turned, by a node.
  struct Turned {
    ValueId source = kNoValue;
    std::vector<s64> perm;
    std::vector<std::string> origins;
  };

  // The node that reads a value, beside those that ask its sizes alone; null where there are more, or it is the caller's.
  const Node* reader_of(ValueId id) {
    const auto [at, fresh] = readers_.try_emplace(id, nullptr);
    if (fresh && !uses_.is_output(id)) at->second = only_reader(id);
    return at->second;
  }
  const Node* only_reader(ValueId id) const {
    const Node* reader = nullptr;
    for (const u32 n : uses_.consumers(id)) {
      const Node& node = graph_.nodes[n];
      if (node.op->traits->reads_types_only) continue;
      if (reader != nullptr) return nullptr;
      reader = &node;
    }
    return reader;
  }

  // By constant weights, with a constant bias or none.
  bool is_product_of_rows(const Node& node) const {
    return is_op(node, "MatMul") && graph_.is_constant(node.inputs[1]) &&
           shape_of(node.inputs[1]).rank() == 2 && node.input(3) == kNoValue &&
           (node.input(2) == kNoValue || graph_.is_constant(node.input(2)));
  }
  // Of a constant for all rows alike.
  bool is_sum_of_rows(const Node& node) const {
    if (!is_op(node, "Add") || node.inputs.size() != 2) return false;
    const size_t constant = graph_.is_constant(node.inputs[0]) ? 0 : 1;
    return graph_.is_constant(node.inputs[constant]) &&
           !graph_.is_constant(node.inputs[1 - constant]) &&
           shape_of(node.inputs[constant]).rank() == 1;
  }
  size_t data_input(const Node& node) const { return graph_.is_constant(node.inputs[0]) ? 1 : 0; }

  // Of a Transpose that leaves elements of a row together.
  std::optional<std::vector<s64>> rows_turned(const Node& node) const {
    const auto perm = attribute_of<&TransposeAttributes::perm>(node);
    if (!perm || perm->size() < 3 || perm->back() != std::ssize(*perm) - 1) return {};
    return perm;
  }

  // What gives a value that one node reads; null where that gives another one by now.
  Node* own_producer(ValueId id) {
    Node* node = reader_of(id) == nullptr ? nullptr : producer_of(graph_, uses_, id);
    return node == nullptr || node->outputs[0] != id ? nullptr : node;
  }

  // Whether the value's reader, past biases and moves, is a Transpose: another one before it costs nothing.
  bool leads_to_turn(ValueId id) {
    for (size_t steps = 0; steps < kMostSteps; ++steps) {
      const Node* reader = reader_of(id);
      if (reader == nullptr || reader->outputs.size() != 1) return false;
      if (is_op(*reader, "Transpose")) return true;
      if (!is_sum_of_rows(*reader) && !moves_axes(*reader)) return false;
      id = reader->outputs[0];
    }
    return false;
  }

  void note(const Node& node) {
    if (const auto perm = rows_turned(node); perm && reader_of(node.outputs[0]) != nullptr)
      turned_[node.outputs[0]] = {node.inputs[0], *perm, node.origins};
  }

  // The shape of which `turned` is the Transpose.
  static Shape shape_before(const Shape& turned, const std::vector<s64>& perm) {
    Shape shape = turned;
    for (size_t d = 0; d < perm.size(); ++d)
      shape[static_cast<int>(perm[d])] = turned[static_cast<int>(d)];
    return shape;
  }

  // The node computes a new value, and a Transpose behind it what it gave.
  void turn_behind(Node& node, const Turned& turned) {
    const std::vector<s64>& perm = turned.perm;
    const ValueId result = node.outputs[0];
    const Value& value = graph_.value(result);
    const ValueId own = graph_.add_value(
        value.name + ".rows", TensorType{value.type.dtype, shape_before(value.type.shape, perm)});
    node.outputs = {own};
    Node turn = beside(node, "Transpose", "turn", {own});
    set_attribute<&TransposeAttributes::perm>(turn.attrs, perm);
    turn.origins = turned.origins;
    turn.outputs = {result};
    edit_.insert_after(at_, std::move(turn));
    turned_[result] = {own, perm, turned.origins};
  }

  void sink_rows(Node& node) {
    const size_t data = data_input(node);
    const auto at = turned_.find(node.inputs[data]);
    if (at == turned_.end() || reader_of(node.inputs[data]) != &node) return;
    if (shape_of(node.outputs[0]).rank() != std::ssize(at->second.perm)) return;
    if (!leads_to_turn(node.outputs[0]) || !rewrites_.allow()) return;
    const Turned turned = at->second;
    node.inputs[data] = turned.source;
    turn_behind(node, turned);
  }

  // A Reshape that parts rows into several axes.
  void sink_parting(Node& node) {
    const auto at = turned_.find(node.inputs[0]);
    if (at == turned_.end() || reader_of(node.inputs[0]) != &node) return;
    const Shape &from = shape_of(node.inputs[0]), to = shape_of(node.outputs[0]);
    const int rows = from.rank() - 1;
    if (!same_first_axes(from, to, rows) || to.rank() <= from.rank()) return;
    if (from[rows] <= 0 || product_from(to, rows) != from[rows]) return;
    if (!leads_to_turn(node.outputs[0]) || !rewrites_.allow()) return;
    Turned turned = at->second;
    turned.perm.pop_back();
    for (s64 d = rows; d < to.rank(); ++d) turned.perm.push_back(d);
    node.inputs[0] = turned.source;
    node.inputs[1] = sizes_behind(node, rows, to);
    node.attrs = Attrs();  // zeros keep sizes
    turn_behind(node, turned);
  }

  // A Gather of one index of an axis, of a value that moves turn further.
  bool sink_part(Node& node) {
    if (!picks_one(node) || !leads_to_turn(node.outputs[0])) return false;
    const std::optional<Turned> whole = turned_by(node.inputs[0]);
    if (!whole || !rewrites_.allow()) return false;
    pick(node, *whole);
    return true;
  }

  bool picks_one(const Node& node) const {
    const Tensor* index = is_op(node, "Gather") ? graph_.constant_input(node, 1) : nullptr;
    return index != nullptr && index->shape().rank() == 0;
  }

  // Of a Transpose of which one index each is read: queries, keys and values of one product. What each reader needs is turned then, as part of its own product.
  void pick_first(Node& node) {
    Node* turn = producer_of(graph_, uses_, node.inputs[0]);
    if (turn == nullptr || !is_op(*turn, "Transpose") || uses_.is_output(turn->outputs[0])) return;
    if (turn->outputs[0] != node.inputs[0] || !picks_one(node)) return;
    const auto perm = rows_turned(*turn);
    if (!perm || perm->size() < 4 || !is_picked(turn->outputs[0])) return;
    if (rewrites_.allow()) pick(node, {turn->inputs[0], *perm, turn->origins});
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

  // One index of what `whole` turns, and the rest of the axes turned behind it.
  void pick(Node& node, const Turned& whole) {
    Turned part = whole;
    const s64 axis = attribute_of<&AxisAttributes::axis>(node), rank = std::ssize(part.perm);
    const auto at = part.perm.begin() + (axis < 0 ? axis + rank : axis);
    const s64 own = *at;
    part.perm.erase(at);
    for (s64& other : part.perm) other -= other > own ? 1 : 0;
    node.inputs[0] = part.source;
    set_attribute<&AxisAttributes::axis>(node.attrs, own);
    turn_behind(node, part);
  }

  // How moves have turned what stands before them, from the first of them on that is known.
  std::optional<Turned> turned_by(ValueId id) const {
    std::vector<const Node*> moves;  // the last first
    std::optional<Turned> turned;
    while (moves.size() < kMostSteps) {
      if (std::optional<Turned> whole = turned_behind(id, moves)) turned = std::move(whole);
      const Node* before = producer_of(graph_, uses_, id);
      if (before == nullptr || !moves_axes(*before) || before->outputs[0] != id) break;
      moves.push_back(before);
      id = before->inputs[0];
    }
    return turned;
  }

  std::optional<Turned> turned_behind(ValueId id, const std::vector<const Node*>& moves) const {
    const auto at = turned_.find(id);
    if (at == turned_.end()) return {};
    AxisParts parts(shape_of(id));
    for (size_t i = moves.size(); i-- > 0;) {
      if (!parts.move(graph_, *moves[i])) return {};
    }
    const std::optional<std::vector<s64>> perm = parts.perm();
    if (!perm) return {};
    Turned turned{at->second.source, {}, at->second.origins};
    for (const s64 axis : *perm) turned.perm.push_back(at->second.perm[static_cast<size_t>(axis)]);
    return turned;
  }

  // The first axes as they are, then those of `shape`.
  ValueId sizes_behind(const Node& node, int kept, const Shape& shape) {
    std::vector<s64> sizes(static_cast<size_t>(kept), 0);
    for (int d = kept; d < shape.rank(); ++d) sizes.push_back(shape[d]);
    return graph_.add_constant(node.name + ".sizes",
                               Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes));
  }

  // Transpose(Reshape(product of rows(Reshape(z)))), whose Reshapes join rows to one axis and part them again, becomes a product of z turned. z is itself turned, so that is one Transpose.
  bool raise(Node& node) {
    const auto perm = rows_turned(node);
    if (!perm || uses_.is_output(node.inputs[0])) return false;
    Node* parts = own_producer(node.inputs[0]);
    if (parts == nullptr || !is_op(*parts, "Reshape")) return false;
    std::vector<Node*> rows;  // the last first
    Node* at = own_producer(parts->inputs[0]);
    if (at != nullptr && is_sum_of_rows(*at))
      rows.push_back(at), at = own_producer(at->inputs[data_input(*at)]);
    if (at == nullptr || !is_product_of_rows(*at)) return false;
    rows.push_back(at);
    Node* joins = own_producer(at->inputs[0]);
    if (joins == nullptr || !is_op(*joins, "Reshape")) return false;
    const Node* before = producer_of(graph_, uses_, joins->inputs[0]);
    if (before == nullptr || !is_op(*before, "Transpose")) return false;
    const Shape &z = shape_of(joins->inputs[0]), &to = shape_of(parts->outputs[0]);
    const int axes = to.rank() - 1;
    const s64 depth = shape_of(at->inputs[1])[0], width = shape_of(at->inputs[1])[1];
    if (!same_first_axes(z, to, axes) || z.rank() <= axes || to[axes] != width) return false;
    if (depth <= 0 || product_from(z, axes) != depth) return false;
    if (shape_of(joins->outputs[0]).rank() != 2 || !rewrites_.allow()) return false;
    raise(node, {.perm = *perm, .joins = joins, .rows = rows, .parts = parts});
    return true;
  }

  struct Raised {
    std::vector<s64> perm;
    const Node* joins;
    std::vector<Node*> rows;
    const Node* parts;
  };

  void raise(const Node& node, const Raised& found) {
    const Shape& z = shape_of(found.joins->inputs[0]);
    const Dtype dtype = graph_.value(node.outputs[0]).type.dtype;
    const auto first = static_cast<size_t>(found.joins - graph_.nodes.data());
    const int axes = static_cast<int>(found.perm.size()) - 1;
    std::vector<s64> perm(found.perm.begin(), found.perm.end() - 1);
    for (s64 d = axes; d < z.rank(); ++d) perm.push_back(d);
    Shape turned, rows;
    for (const s64 d : perm) turned.push_back(z[static_cast<int>(d)]);
    for (int d = 0; d < axes; ++d) rows.push_back(turned[d]);
    rows.push_back(product_from(z, axes));
    Node turn = beside(*found.joins, "Transpose", "turn", {found.joins->inputs[0]});
    set_attribute<&TransposeAttributes::perm>(turn.attrs, perm);
    turn.outputs = {graph_.add_value(turn.name, TensorType{dtype, turned})};
    Node join = beside(*found.joins, "Reshape", "rows", {turn.outputs[0]});
    join.inputs.push_back(sizes_behind(join, axes, rows));
    join.outputs = {graph_.add_value(join.name, TensorType{dtype, rows})};
    ValueId x = join.outputs[0];
    edit_.insert_before(first, std::move(turn));
    edit_.insert_before(first, std::move(join));
    for (size_t i = found.rows.size(); i-- > 0;) {
      Node& product = *found.rows[i];
      product.inputs[data_input(product)] = x;
      const Shape& own = shape_of(product.outputs[0]);
      rows[axes] = own[own.rank() - 1];
      x = i == 0 ? node.outputs[0]
                 : graph_.add_value(product.name + ".rows", TensorType{dtype, rows});
      join_behind(product, x);
    }
    append_origins(*found.rows[0], *found.parts);
    append_origins(*found.rows[0], node);
    edit_.erase(at_);
  }

  // The node computes `own`; who asks for the sizes of what it gave finds its rows joined behind it.
  void join_behind(Node& node, ValueId own) {
    const ValueId joined = node.outputs[0];
    const Shape& shape = shape_of(joined);
    node.outputs = {own};
    const ValueId sizes = graph_.add_constant(
        node.name + ".joined", Tensor::of<s64>(Shape{2}, std::array{s64{-1}, shape[1]}));
    Node join = beside(node, "Reshape", "join", {own, sizes});
    join.origins = {};
    join.outputs = {joined};
    edit_.insert_after(static_cast<size_t>(&node - graph_.nodes.data()), std::move(join));
  }

  static Node beside(const Node& node, std::string_view op, std::string_view what,
                     std::vector<ValueId> inputs) {
    return node_beside(node, find_op(op), node.name + "." + std::string(what), std::move(inputs));
  }

  static constexpr size_t kMostSteps = 8;

  std::unordered_map<ValueId, Turned> turned_;
  std::unordered_map<ValueId, const Node*> readers_;  // that were asked for
  std::unordered_map<ValueId, bool> picked_;
};

}  // namespace

void sink_turns(Graph& graph, Rewrites& rewrites) { TurnSinker(graph, rewrites).run(); }

}  // namespace octet
