// SPDX-License-Identifier: Apache-2.0
#include "plan/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/strided.h"
#include "plan/growing_lengths.h"

namespace octet {
namespace {

// Inputs broadcast as NumPy's do, as those of all `elements` of growing.def, and nothing else is said of what they hold.
bool broadcasts(const Node& node) {
  return node.outputs.size() == 1 && growing_rules(*node.op).rows == GrowingRule::elements &&
         node.op->traits->codes == CodeMeaning::unknown && node.op->quant.kind != QuantKind::table;
}

// Whether each index of an axis holds what the first one does.
bool repeats_along(const Tensor& tensor, int axis) {
  const s64 count = tensor.shape()[axis], outer = dims_product(tensor.shape(), 0, axis);
  if (count < 2 || tensor.elements() == 0) return false;
  const size_t inner = tensor.bytes() / static_cast<size_t>(outer * count);
  for (s64 o = 0; o < outer; ++o) {
    const std::byte* first = tensor.data() + static_cast<size_t>(o * count) * inner;
    for (s64 i = 1; i < count; ++i)
      if (std::memcmp(first, first + static_cast<size_t>(i) * inner, inner) != 0) return false;
  }
  return true;
}

Tensor first_along(const Tensor& tensor, int axis) {
  Shape shape = tensor.shape();
  const s64 count = shape[axis], outer = dims_product(shape, 0, axis);
  const size_t inner = tensor.bytes() / static_cast<size_t>(outer * count);
  shape[axis] = 1;
  Tensor first(tensor.dtype(), shape);
  for (s64 o = 0; o < outer; ++o)
    std::memcpy(first.mutable_data() + static_cast<size_t>(o) * inner,
                tensor.data() + static_cast<size_t>(o * count) * inner, inner);
  return first;
}

class Narrower {
 public:
  explicit Narrower(Graph& graph) : graph_(graph), narrow_(graph.value_count()) {}

  void run() {
    for (const Node& node : graph_.nodes) find(node);
    if (!found_) return;
    keep_whole();
    for (const Node& node : graph_.nodes) find_again(node);
    for (Node& node : graph_.nodes) replace(node);
    join_equal();
    remove_dead_nodes(graph_);
  }

 private:
  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }
  const Shape& narrow_of(ValueId id) const { return narrow_[id] ? *narrow_[id] : shape_of(id); }

  // The shape that operands need not be larger than; values that are made in the run have theirs.
  std::optional<Shape> needed(const Node& node) {
    Shape shape;
    bool made = false;
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      made = made || !graph_.is_constant(id);
      shape = broadcast_shapes(shape, graph_.is_constant(id) ? of_constant(id) : narrow_of(id));
    }
    return made ? std::optional(shape) : std::nullopt;
  }

  // Without the axes along which it repeats itself. Weights are no masks: they are looked at no further than where another operand is smaller.
  const Shape& of_constant(ValueId id) {
    const auto [at, fresh] = constants_.try_emplace(id, graph_.value(id).constant);
    Tensor& tensor = at->second;
    for (int d = 0; fresh && d < tensor.shape().rank(); ++d)
      if (repeats_along(tensor, d)) tensor = first_along(tensor, d);
    return tensor.shape();
  }

  // Whether constants alone make it as large as it is.
  bool is_made_larger(const Node& node) const {
    Shape made;
    for (const ValueId id : node.inputs)
      if (id != kNoValue && !graph_.is_constant(id)) made = broadcast_shapes(made, narrow_of(id));
    return made.elements() < shape_of(node.outputs[0]).elements();
  }

  void find(const Node& node) {
    if (!broadcasts(node) || !is_made_larger(node)) return;
    const std::optional<Shape> shape = needed(node);
    if (!shape || *shape == shape_of(node.outputs[0])) return;
    narrow_[node.outputs[0]] = *shape;
    found_ = true;
  }

  // Of operands some of which stay whole.
  void find_again(const Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) return;
    std::optional<Shape>& narrow = narrow_[node.outputs[0]];
    if (!narrow) return;
    narrow = needed(node);
    if (narrow == shape_of(node.outputs[0])) narrow.reset();
  }

  // Whoever does not broadcast, or has no other operand that is as large, wants the whole value; then so does the node that makes it.
  void keep_whole() {
    for (const ValueId id : graph_.outputs) narrow_[id].reset();
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (fits(node)) continue;
      for (const ValueId id : node.inputs)
        if (id != kNoValue) narrow_[id].reset();
    }
  }

  bool fits(const Node& node) {
    const bool reads = std::ranges::any_of(
        node.inputs, [&](ValueId id) { return id != kNoValue && narrow_[id].has_value(); });
    if (!reads) return true;
    if (!broadcasts(node)) return false;
    if (narrow_[node.outputs[0]]) return true;
    Shape shape;
    for (const ValueId id : node.inputs)
      if (id != kNoValue) shape = broadcast_shapes(shape, narrow_of(id));
    return shape == shape_of(node.outputs[0]);
  }

  void replace(Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue || !narrow_[node.outputs[0]])
      return;
    graph_.value(node.outputs[0]).type.shape = *narrow_[node.outputs[0]];
    for (ValueId& id : node.inputs)
      if (id != kNoValue && graph_.is_constant(id) && of_constant(id) != shape_of(id))
        id = graph_.add_constant(graph_.value(id).name + ".once", constants_.at(id));
  }

  // Layers make each its own mask of one condition and of constants alike.
  void join_equal() {
    std::map<std::pair<std::string_view, std::vector<std::string>>, ValueId> made;
    std::vector<ValueId> instead(graph_.value_count());
    for (ValueId id = 0; id < instead.size(); ++id) instead[id] = id;
    for (Node& node : graph_.nodes) {
      for (ValueId& id : node.inputs)
        if (id != kNoValue) id = instead[id];
      const bool narrowed = node.outputs.size() == 1 && node.outputs[0] < narrow_.size() &&
                            narrow_[node.outputs[0]].has_value();
      if (!narrowed || !node.attrs.empty()) continue;
      const auto [at, fresh] =
          made.try_emplace({node.op->name, texts(node.inputs)}, node.outputs[0]);
      if (!fresh) instead[node.outputs[0]] = at->second;
    }
  }

  // Small constants by what they hold.
  std::vector<std::string> texts(const std::vector<ValueId>& ids) const {
    std::vector<std::string> all;
    for (const ValueId id : ids) {
      constexpr size_t kSmall = 4096;  // bytes
      if (id == kNoValue || !graph_.is_constant(id) || graph_.value(id).constant.bytes() > kSmall) {
        all.push_back(fmt::format("%{}", id));
        continue;
      }
      const Tensor& tensor = graph_.value(id).constant;
      all.push_back(to_string(tensor.type()));
      all.back().append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    }
    return all;
  }

  Graph& graph_;
  std::vector<std::optional<Shape>> narrow_;  // of values that can be smaller
  bool found_ = false;
  std::map<ValueId, Tensor>
      constants_;  // of such nodes, each without the axes along which it repeats itself
};

}  // namespace

void narrow_repeats(Graph& graph) { Narrower(graph).run(); }

}  // namespace octet
