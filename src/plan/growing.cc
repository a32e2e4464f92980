// SPDX-License-Identifier: Apache-2.0
#include "plan/growing.h"

#include <algorithm>
#include <utility>

#include "graph/op_traits.h"
#include "ops/attributes/moves.h"
#include "plan/growing_graph.h"
#include "plan/growing_lengths.h"

namespace octet {
namespace {

// Sizes of a run's inputs for each length.
class Sizes {
 public:
  Sizes(const Graph& graph, std::span<const Shape> shapes, std::span<const Cache> caches)
      : shapes_(shapes.begin(), shapes.end()), length_(shapes[caches[0].input][caches[0].axis]) {
    axes_.resize(shapes.size());
    for (const Cache& cache : caches) axes_[cache.input] = {cache.axis, 0};
    graph_inputs_ = &graph;
  }

  s64 length() const { return length_; }
  const std::vector<GrowingAxis>& axes() const { return axes_; }

  // An open axis of as many rows as the caches have behind the run: an attention mask.
  void find_others(s64 added) {
    for (size_t i = 0; i < axes_.size(); ++i) {
      const Shape& open = graph_inputs_->value(graph_inputs_->inputs[i]).type.shape;
      for (int d = 0; d < open.rank() && !axes_[i].grows(); ++d) {
        if (open[d] < 0 && shapes_[i][d] == length_ + added) axes_[i] = {d, added};
      }
    }
  }

  std::vector<Shape> at(s64 length) const {
    std::vector<Shape> shapes = shapes_;
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (axes_[i].grows()) shapes[i][axes_[i].axis] = length + axes_[i].extra;
    }
    return shapes;
  }

 private:
  const std::vector<Shape> shapes_;
  const s64 length_;
  const Graph* graph_inputs_;
  std::vector<GrowingAxis> axes_;
};

Propagated facts_of(const Graph& graph, std::span<const Shape> shapes) {
  PropagateOptions options;
  options.keep_products = true;
  Propagated facts = propagate(graph, shapes, options);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!facts.reasons[n].empty())
      refuse_growing(graph.nodes[n], "needs data of the run: " + facts.reasons[n]);
  }
  return facts;
}

// Of another length than the run's, which the graph need not take: a table of positions ends somewhere.
Propagated facts_at(const Graph& graph, const Sizes& sizes, s64 length) {
  try {
    return facts_of(graph, sizes.at(length));
  } catch (const Error& error) {
    throw GrowingRefused{fmt::format("caches of {} rows: {}", length, error.message())};
  }
}

void find_outputs(const Graph& graph, const GrowingLengths& lengths, std::span<const Cache> caches,
                  s64 added, Growing& growing) {
  growing.continues.resize(graph.outputs.size());
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i];
    const int axis = lengths.axis(id);
    if (axis == GrowingLengths::kManyAxes)
      throw GrowingRefused{
          fmt::format("output '{}' grows along several axes", graph.value(id).name)};
    growing.outputs.push_back(axis < 0 ? GrowingAxis{} : GrowingAxis{axis, added});
    for (const Cache& cache : caches) {
      if (graph.nodes[cache.node].outputs[0] == id) growing.continues[i] = cache.input;
    }
  }
}

// What is tried: lengths from `least` on, and whether open axes of the size of caches behind the run grow with them.
struct Attempt {
  s64 least = 1;
  bool masks = true;
};

Growing grown(const Graph& graph, std::span<const Shape> shapes, std::span<const Cache> caches,
              s64 rows, Attempt attempt) {
  const auto [least, masks] = attempt;
  Sizes sizes(graph, shapes, caches);
  const Node& first = graph.nodes[caches[0].node];
  const s64 length = sizes.length();
  for (const Cache& cache : caches) {
    if (shapes[cache.input][cache.axis] != length)
      throw GrowingRefused{"caches have different numbers of rows"};
  }
  if (length < least) throw GrowingRefused{"the caches are empty"};
  const Propagated facts = facts_of(graph, shapes);
  const s64 added = facts.types[first.outputs[0]].shape[caches[0].axis] - length;
  if (masks) sizes.find_others(added);
  Growing growing;
  growing.rows =
      rows == 0 ? (length + added + kGrowingStep - 1) / kGrowingStep * kGrowingStep : rows;
  growing.most = growing.rows - added;
  growing.least = rows == 0 ? std::max(least, growing.most - kGrowingStep + 1) : least;
  if (growing.most < length || growing.least >= growing.most)
    throw GrowingRefused{fmt::format("{} rows are too few", growing.rows)};
  const GrowingLengths lengths(graph, {growing.least, facts_at(graph, sizes, growing.least)},
                               {growing.most, facts_at(graph, sizes, growing.most)});
  if (const std::optional<ValueId> id = lengths.first_unlike(length, facts))
    throw GrowingRefused{
        fmt::format("'{}' does not grow evenly with the length", graph.value(*id).name)};
  growing.inputs = sizes.axes();
  growing.graph = write_growing(graph, lengths, caches, added);
  growing.shapes = sizes.at(growing.most);
  for (const Cache& cache : caches) growing.shapes[cache.input][cache.axis] = growing.rows;
  growing.shapes.push_back({});
  find_outputs(graph, lengths, caches, added, growing);
  return growing;
}

// Whether nothing but the Concat needs the input's elements.
bool is_read_once(const Graph& graph, const Uses& uses, ValueId id) {
  return !uses.is_output(id) && std::ranges::count_if(uses.consumers(id), [&](u32 n) {
                                  return !graph.nodes[n].op->traits->reads_types_only;
                                }) == 1;
}

}  // namespace

std::vector<Cache> find_caches(const Graph& graph) {
  std::vector<Cache> caches;
  const Uses uses(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i];
    if (!is_read_once(graph, uses, id)) continue;
    const Shape& shape = graph.value(id).type.shape;
    for (const u32 n : uses.consumers(id)) {
      const Node& node = graph.nodes[n];
      if (growing_rules(*node.op).rows != GrowingRule::joins || node.inputs[0] != id ||
          shape.rank() < 1)
        continue;
      const s64 given = attribute_of<&ConcatAttributes::axis>(node);
      const s64 axis = given + (given < 0 ? shape.rank() : 0);
      if (axis >= 0 && axis < shape.rank() && shape[static_cast<int>(axis)] < 0)
        caches.push_back({i, static_cast<int>(axis), n});
    }
  }
  return caches;
}

std::optional<s64> Growing::length_of(std::span<const Shape> input_shapes) const {
  std::optional<s64> length;
  if (input_shapes.size() != inputs.size()) return std::nullopt;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape expected = shapes[i];
    if (!inputs[i].grows()) {
      if (expected != input_shapes[i]) return std::nullopt;
      continue;
    }
    if (input_shapes[i].rank() != expected.rank()) return std::nullopt;
    const s64 size = input_shapes[i][inputs[i].axis];
    expected[inputs[i].axis] = size;
    if (expected != input_shapes[i] ||
        length.value_or(size - inputs[i].extra) != size - inputs[i].extra)
      return std::nullopt;
    length = size - inputs[i].extra;
  }
  if (!length || *length < least || *length > most) return std::nullopt;
  return length;
}

Shape Growing::output_shape(size_t i, const Shape& whole, s64 length) const {
  Shape shape = whole;
  if (outputs[i].grows()) shape[outputs[i].axis] = length + outputs[i].extra;
  return shape;
}

GrowingOrReject make_growing(const Graph& graph, std::span<const Shape> input_shapes, s64 rows) {
  const std::vector<Cache> caches = find_caches(graph);
  if (caches.empty()) return Reject{"no input is continued by a Concat"};
  // In the caller's buffers from the first token on, unless the graph takes no empty caches. At length 0 an axis of one token looks like a mask's.
  std::vector<Attempt> attempts = {{1, true}};
  if (rows != 0)
    attempts = {
        {0, true},
        input_shapes[caches[0].input][caches[0].axis] == 0 ? Attempt{0, false} : Attempt{1, true}};
  std::string reason;
  for (const Attempt& attempt : attempts) {
    try {
      return grown(graph, input_shapes, caches, rows, attempt);
    } catch (const GrowingRefused& refused) {
      if (reason.empty()) reason = refused.reason;
    }
  }
  return Reject{reason};
}

}  // namespace octet
