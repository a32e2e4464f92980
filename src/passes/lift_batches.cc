// SPDX-License-Identifier: Apache-2.0
// Where an exporter joins the batch and the heads of attention to one axis (torch.bmm: DETR, BART, nn.MultiheadAttention), the products, what
// stands between them and Softmax keep these axes apart, and the Reshape goes behind them: there it meets the one that parts them again
// (join_moves.cc). A product of which one operand has its axes apart parts those of the other. Runs when types are known.
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/attributes/moves.h"
#include "ops/attributes/normalization.h"
#include "ops/registry.h"
#include "passes/axis_parts.h"
#include "passes/elementwise.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

// A value of three axes or more whose first one is several, as a value with these apart.
struct Apart {
  ValueId value = kNoValue;
  int joined = 0;  // how many axes are one in the other
};

class BatchLifter : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      Node& node = graph_.nodes[at_];
      if (is_op(node, "MatMul")) {
        lift_product(node);
      } else if (is_softmax_of_rows(node) || is_elementwise(node)) {
        lift_function(node);
      }
    }
    edit_.apply();
  }

 private:
  bool is_softmax_of_rows(const Node& node) const {
    if (!is_op(node, "Softmax")) return false;
    const int rank = shape_of(node.inputs[0]).rank();
    const s64 axis = attribute_of<&SoftmaxAttributes::axis>(node);
    return axis == -1 || axis == rank - 1;
  }

  // How the value is made of one with more axes: by moves alone, or by a node that was lifted.
  struct View {
    ValueId source = kNoValue;
    std::vector<s64> perm;  // of the source
    int joined = 0;
  };

  std::optional<View> view_of(ValueId id) const {
    if (id == kNoValue || shape_of(id).is_unknown() || shape_of(id).rank() < 3) return {};
    if (const auto at = apart_.find(id); at != apart_.end())
      return View{at->second.value, {}, at->second.joined};
    std::vector<const Node*> moves;
    for (ValueId from = id; moves.size() < kMostMoves;) {
      const Node* before = producer_of(graph_, uses_, from);
      if (before == nullptr || !moves_axes(*before)) break;
      moves.push_back(before);
      from = before->inputs[0];
      if (std::optional<View> view = view_behind(from, moves)) return view;
    }
    return {};
  }

  std::optional<View> view_behind(ValueId source, const std::vector<const Node*>& moves) const {
    AxisParts parts(shape_of(source));
    for (size_t i = moves.size(); i-- > 0;) {
      if (!parts.move(graph_, *moves[i])) return {};
    }
    View view{source, {}, 0};
    for (int axis = 0; axis < parts.rank(); ++axis) {
      const std::vector<int>& own = parts.parts(axis);
      if (axis == 0 ? own.size() < 2 : own.size() != 1) return {};
      if (axis == 0) view.joined = static_cast<int>(own.size());
      view.perm.insert(view.perm.end(), own.begin(), own.end());
    }
    const bool has_all = std::ssize(view.perm) == shape_of(source).rank();
    return has_all ? std::optional(view) : std::nullopt;
  }

  Shape shape_behind(const View& view) const {
    const Shape& source = shape_of(view.source);
    if (view.perm.empty()) return source;
    Shape shape;
    for (const s64 axis : view.perm) shape.push_back(source[static_cast<int>(axis)]);
    return shape;
  }

  Node beside(const Node& node, std::string_view op, std::string_view what,
              std::vector<ValueId> inputs) {
    Node made =
        node_beside(node, find_op(op), node.name + "." + std::string(what), std::move(inputs));
    made.origins = {};
    return made;
  }

  ValueId insert(Node made, const TensorType& type) {
    made.outputs = {graph_.add_value(made.name, type)};
    const ValueId id = made.outputs[0];
    edit_.insert_before(at_, std::move(made));
    return id;
  }

  ValueId apart(const Node& node, const View& view, std::string_view what) {
    if (view.perm.empty()) return view.source;
    Node turn = beside(node, "Transpose", what, {view.source});
    set_attribute<&TransposeAttributes::perm>(turn.attrs, view.perm);
    return insert(std::move(turn), {graph_.value(view.source).type.dtype, shape_behind(view)});
  }

  // [first axes of `like`] + [all but the first of x].
  ValueId parted(const Node& node, ValueId x, const View& like, std::string_view what) {
    const Shape given = shape_behind(like), own = shape_of(x);
    const ValueId whole = apart(node, like, std::string(what) + ".like");
    Node first = beside(node, "Shape", std::string(what) + ".batch", {whole});
    set_attribute<&ShapeAttributes::start>(first.attrs, 0);
    set_attribute<&ShapeAttributes::end>(first.attrs, like.joined);
    Node rest = beside(node, "Shape", std::string(what) + ".matrix", {x});
    set_attribute<&ShapeAttributes::start>(rest.attrs, 1);
    Node sizes = beside(node, "Concat", std::string(what) + ".sizes",
                        {insert(std::move(first), {Dtype::s64, Shape{s64{like.joined}}}),
                         insert(std::move(rest), {Dtype::s64, Shape{s64{own.rank() - 1}}})});
    set_attribute<&ConcatAttributes::axis>(sizes.attrs, 0);
    const s64 rank = like.joined + own.rank() - 1;
    Shape shape;
    for (int d = 0; d < like.joined; ++d) shape.push_back(given[d]);
    for (int d = 1; d < own.rank(); ++d) shape.push_back(own[d]);
    Node reshape =
        beside(node, "Reshape", what, {x, insert(std::move(sizes), {Dtype::s64, Shape{rank}})});
    return insert(std::move(reshape), {graph_.value(x).type.dtype, shape});
  }

  // The node computes `shape`; what it gave is this with the first axes joined.
  void finish(Node& node, const Shape& shape, int joined) {
    const ValueId result = node.outputs[0];
    const Value& value = graph_.value(result);
    const ValueId own =
        graph_.add_value(value.name + ".apart", TensorType{value.type.dtype, shape});
    node.outputs = {own};
    apart_[result] = {own, joined};
    const std::string name = node.name;
    const ValueId one =
        graph_.add_constant(name + ".joined", Tensor::of<s64>(Shape{1}, std::array{s64{-1}}));
    Node rest = beside(node, "Shape", "matrix", {own});
    set_attribute<&ShapeAttributes::start>(rest.attrs, joined);
    rest.outputs = {graph_.add_value(rest.name, {Dtype::s64, Shape{s64{shape.rank() - joined}}})};
    Node sizes = beside(node, "Concat", "sizes", {one, rest.outputs[0]});
    set_attribute<&ConcatAttributes::axis>(sizes.attrs, 0);
    sizes.outputs = {
        graph_.add_value(sizes.name, {Dtype::s64, Shape{s64{shape.rank() - joined + 1}}})};
    Node join = beside(node, "Reshape", "join", {own, sizes.outputs[0]});
    join.outputs = {result};
    for (Node* made : {&rest, &sizes, &join}) edit_.insert_after(at_, std::move(*made));
  }

  bool same_batch(const View& a, const View& b) const {
    const Shape first = shape_behind(a), second = shape_behind(b);
    if (a.joined != b.joined) return false;
    for (int d = 0; d < a.joined; ++d)
      if (first[d] != second[d]) return false;
    return true;
  }

  void lift_product(Node& node) {
    const std::optional<View> a = view_of(node.inputs[0]), b = view_of(node.inputs[1]);
    if ((!a && !b) || graph_.is_constant(node.inputs[0]) || graph_.is_constant(node.inputs[1]))
      return;
    const Shape &left = shape_of(node.inputs[0]), &right = shape_of(node.inputs[1]);
    if (left.rank() != right.rank() || uses_.is_output(node.outputs[0])) return;
    if (left[0] == Shape::kDynamic) return;
    for (int d = 0; d + 2 < left.rank(); ++d)
      if (left[d] != right[d]) return;
    if (a && b && !same_batch(*a, *b)) return;
    // Of moves alone, an operand that is parted would cost what its Reshape does and save nothing.
    if ((!a && !b->perm.empty()) || (!b && !a->perm.empty())) return;
    if (!rewrites_.allow()) return;
    const View& like = a ? *a : *b;
    const ValueId x = a ? apart(node, *a, "a") : parted(node, node.inputs[0], like, "a");
    const ValueId y = b ? apart(node, *b, "b") : parted(node, node.inputs[1], like, "b");
    node.inputs = {x, y};
    Shape shape = shape_of(x);
    shape[shape.rank() - 1] = shape_of(y)[shape_of(y).rank() - 1];
    finish(node, shape, like.joined);
  }

  // Of the scores that a lifted product made, with what is one for all of them.
  void lift_function(Node& node) {
    std::optional<View> view;
    size_t place = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue) continue;
      if (const auto at = apart_.find(id); at != apart_.end()) {
        if (view) return;
        view = View{at->second.value, {}, at->second.joined}, place = i;
      } else if (!spreads(shape_of(id), shape_of(node.outputs[0]))) {
        return;
      }
    }
    if (!view || node.outputs.size() != 1 || uses_.is_output(node.outputs[0])) return;
    if (uses_.only_consumer(node.inputs[place]) < 0) return;
    if (shape_of(node.inputs[place]) != shape_of(node.outputs[0]) || !rewrites_.allow()) return;
    node.inputs[place] = view->source;
    if (is_op(node, "Softmax")) set_attribute<&SoftmaxAttributes::axis>(node.attrs, -1);
    finish(node, shape_of(view->source), view->joined);
  }

  // The same for each index of the first axis of the whole.
  static bool spreads(const Shape& shape, const Shape& whole) {
    if (shape.is_unknown() || shape.rank() > whole.rank()) return false;
    return shape.rank() < whole.rank() || (whole.rank() > 0 && shape[0] == 1);
  }

  static constexpr size_t kMostMoves = 6;

  std::unordered_map<ValueId, Apart> apart_;
};

}  // namespace

void lift_batches(Graph& graph, Rewrites& rewrites) { BatchLifter(graph, rewrites).run(); }

}  // namespace octet
