// SPDX-License-Identifier: Apache-2.0
// What one stage can plan, what runs after it, and what stays for the next.
#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "graph/propagate.h"
#include "runtime/staged.h"

namespace octet {
namespace {

// Parameters of shapes are small; a larger value is not made part of a plan.
constexpr s64 kMaxKnownBytes = 4096;

bool same_value(const Tensor& a, const Tensor& b) {
  if (!a || !b) return !a == !b;
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

class Stager {
 public:
  Stager(const Graph& graph, const StageStart& start)
      : graph_(graph),
        start_(start),
        later_(graph.value_count(), false),
        made_(graph.value_count(), false),
        wanted_(graph.value_count(), false) {}

  Stage run() {
    stage_.done = start_.done;
    stage_.reasons.resize(graph_.nodes.size());
    open_rest();
    PropagateOptions options;
    options.keep_products = true;
    facts_ = propagate(rest_, start_types_, {}, options);
    for (size_t n = 0; n < rest_.nodes.size(); ++n) sort(n);
    find_live();
    close_planned();
    for (ValueId id : graph_.outputs) stage_.outputs.push_back(facts_.types[id]);
    return std::move(stage_);
  }

 private:
  // The graph of all nodes that are not done, which begins with the live values.
  void open_rest() {
    rest_ = graph_;
    rest_.inputs.clear();
    rest_.nodes.clear();
    for (u32 n = 0; n < graph_.nodes.size(); ++n) {
      if (start_.done[n]) continue;
      rest_.nodes.push_back(graph_.nodes[n]);
      index_.push_back(n);
    }
    for (size_t i = 0; i < start_.live.size(); ++i) {
      const ValueId id = start_.live[i];
      rest_.value(id).type = start_.types[i];
      rest_.value(id).constant = start_.known[i];
      if (start_.known[i]) continue;
      rest_.inputs.push_back(id);
      start_types_.push_back(start_.types[i]);
    }
  }

  // Kernels are not asked to compute nothing.
  bool has_empty_tensor(const Node& node) const {
    const auto empty = [&](ValueId id) {
      return id != kNoValue &&
             std::ranges::find(facts_.types[id].shape, 0) != facts_.types[id].shape.end();
    };
    return std::ranges::any_of(node.inputs, empty) || std::ranges::any_of(node.outputs, empty);
  }

  bool is_folded(const Node& node) const {
    return std::ranges::all_of(node.outputs,
                               [&](ValueId id) { return id == kNoValue || facts_.known[id]; });
  }

  // Into the plan, into what the reference runs after it, or to a later stage.
  void sort(size_t n) {
    const Node& node = rest_.nodes[n];
    std::string& reason = stage_.reasons[index_[n]];
    reason = facts_.reasons[n];
    const bool empty = reason.empty() && !is_folded(node) && has_empty_tensor(node);
    const bool waits = std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNoValue && later_[id] && !(empty && made_[id]);
    });
    if (!waits && reason.empty() && !empty) {
      planned_.push_back(n);
      stage_.done[index_[n]] = true;
      return;
    }
    if (reason.empty()) reason = empty ? "a tensor is empty" : "an input depends on run-time data";
    for (ValueId id : node.outputs) {
      if (id != kNoValue) later_[id] = true;
    }
    if (waits) return;
    if (const ValueId id = facts_.needs[n]; id != kNoValue && may_become_known(id)) {
      if (!wanted_[id]) stage_.wanted.push_back(id);
      wanted_[id] = true;
      return;
    }
    stage_.reference.push_back(index_[n]);
    stage_.done[index_[n]] = true;
    for (ValueId id : node.outputs) {
      if (id != kNoValue) made_[id] = true;
    }
  }

  bool may_become_known(ValueId id) const {
    const TensorType& type = facts_.types[id];
    return !facts_.known[id] && type.shape.is_static() && type.bytes() <= kMaxKnownBytes;
  }

  // What the reference and later stages read, and the outputs; constants of the model apart.
  void find_live() {
    needed_.assign(graph_.value_count(), false);
    std::vector<bool> read_after(graph_.value_count(), false);
    const auto read = [&](const Node& node, std::vector<bool>& flags) {
      for (ValueId id : node.inputs) {
        if (id != kNoValue) flags[id] = true;
      }
    };
    for (u32 n : stage_.reference) read(graph_.nodes[n], needed_);
    for (u32 n = 0; n < graph_.nodes.size(); ++n) {
      if (!stage_.done[n]) read(graph_.nodes[n], read_after);
    }
    for (ValueId id : graph_.outputs) read_after[id] = true;
    std::vector<bool> exists(graph_.value_count(), false);
    for (ValueId id : start_.live) exists[id] = true;
    for (u32 n = 0; n < graph_.nodes.size(); ++n) {
      if (!stage_.done[n] || start_.done[n]) continue;
      for (ValueId id : graph_.nodes[n].outputs) {
        if (id != kNoValue) exists[id] = true;
      }
    }
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      if (read_after[id] && exists[id]) stage_.live.push_back(id);
      needed_[id] = needed_[id] || read_after[id];
    }
  }

  void close_planned() {
    Graph& planned = stage_.planned;
    planned = std::move(rest_);
    std::vector<Node> nodes = std::move(planned.nodes);
    planned.nodes.clear();
    planned.outputs.clear();
    for (size_t n : planned_) {
      for (ValueId id : nodes[n].outputs) {
        if (id == kNoValue || !needed_[id]) continue;
        (facts_.known[id] ? stage_.folded : planned.outputs).push_back(id);
      }
      if (!is_folded(nodes[n])) planned.nodes.push_back(std::move(nodes[n]));
    }
    for (ValueId id = 0; id < planned.value_count(); ++id) {
      planned.value(id).type = facts_.types[id];
      if (facts_.known[id]) planned.value(id).constant = facts_.known[id];
    }
  }

  const Graph& graph_;
  const StageStart& start_;
  Graph rest_;
  std::vector<u32> index_;  // in graph_, of each node of rest_
  std::vector<TensorType> start_types_;
  Propagated facts_;
  std::vector<size_t> planned_;  // in rest_
  std::vector<bool> later_;      // values that this stage's plan does not compute
  std::vector<bool> made_;       // of those, what the reference computes after the plan
  std::vector<bool> wanted_;     // values in Stage::wanted
  std::vector<bool> needed_;     // values that somebody reads after this stage's plan
  Stage stage_;
};

}  // namespace

bool StageStart::operator==(const StageStart& other) const {
  return done == other.done && live == other.live && types == other.types &&
         std::ranges::equal(known, other.known, same_value);
}

StageStart first_start(const Graph& graph, std::span<const Shape> input_shapes) {
  check_input_shapes(graph, input_shapes);
  StageStart start;
  start.done.resize(graph.nodes.size(), false);
  start.live = graph.inputs;
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    start.types.push_back({graph.value(graph.inputs[i]).type.dtype, input_shapes[i]});
  }
  start.known.resize(start.live.size());
  return start;
}

Stage make_stage(const Graph& graph, const StageStart& start) { return Stager(graph, start).run(); }

}  // namespace octet
