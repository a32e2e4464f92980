// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace octet {

ValueId Graph::add_value(std::string_view wanted, TensorType type) {
  std::string unique(wanted);
  // In growing steps: a file may have taken thousands of names in a row, and each of thousands of values would walk over all of them.
  for (u64 n = values_.size(), step = 1; !names_.insert(unique).second; n += step, step *= 2) {
    unique = std::string(wanted) + "_" + std::to_string(n);
  }
  values_.push_back({std::move(unique), type, {}, {}});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_constant(std::string_view wanted, Tensor tensor) {
  const ValueId id = add_value(wanted, tensor.type());
  values_[id].constant = std::move(tensor);
  return id;
}

const Tensor* Graph::constant_input(const Node& node, size_t i) const {
  const ValueId id = node.input(i);
  return is_constant(id) ? &values_[id].constant : nullptr;
}

ValueId Graph::find_value(std::string_view wanted) const {
  for (ValueId id = 0; id < values_.size(); ++id) {
    if (values_[id].name == wanted) return id;
  }
  return kNoValue;
}

bool Graph::rename(ValueId id, std::string_view wanted) {
  if (!names_.insert(std::string(wanted)).second) return false;
  names_.erase(values_[id].name);
  values_[id].name = wanted;
  return true;
}

void Graph::compact() {
  std::vector<ValueId> renumbered(values_.size(), kNoValue);
  std::vector<Value> kept;
  const auto keep = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id == kNoValue) continue;
      if (renumbered[id] == kNoValue) {
        renumbered[id] = static_cast<ValueId>(kept.size());
        kept.push_back(std::move(values_[id]));
      }
      id = renumbered[id];
    }
  };
  keep(inputs);
  for (Node& node : nodes) {
    keep(node.inputs);
    keep(node.outputs);
  }
  keep(outputs);
  values_ = std::move(kept);
  names_.clear();
  for (const Value& value : values_) names_.insert(value.name);
}

namespace {

// Calls `visit` for each value and each node that reads it, however often it does.
template <class Visit>
void for_each_reader(const Graph& graph, const Visit& visit) {
  constexpr u32 kNobody = std::numeric_limits<u32>::max();
  std::vector<u32> last(graph.value_count(), kNobody);
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId id : graph.nodes[n].inputs) {
      if (id == kNoValue || last[id] == n) continue;
      last[id] = n;
      visit(id, n);
    }
  }
}

}  // namespace

Uses::Uses(const Graph& graph)
    : producer_(graph.value_count(), -1),
      first_reader_(graph.value_count() + 1, 0),
      is_output_(graph.value_count(), false) {
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId id : graph.nodes[n].outputs) {
      if (id != kNoValue) producer_[id] = static_cast<s32>(n);
    }
  }
  for (ValueId id : graph.outputs) is_output_[id] = true;
  // Counted, then written where the readers of the values before end.
  for_each_reader(graph, [&](ValueId id, u32) { ++first_reader_[id + 1]; });
  std::partial_sum(first_reader_.begin(), first_reader_.end(), first_reader_.begin());
  readers_.resize(first_reader_.back());
  std::vector<u32> next(first_reader_.begin(), first_reader_.end() - 1);
  for_each_reader(graph, [&](ValueId id, u32 n) { readers_[next[id]++] = n; });
}

s32 Uses::only_consumer(ValueId id) const {
  if (id == kNoValue) return -1;  // a result that is left out
  const std::span<const u32> readers = consumers(id);
  return readers.size() == 1 && !is_output_[id] ? static_cast<s32>(readers[0]) : -1;
}

void erase_nodes(Graph& graph, std::vector<u32> indices) {
  std::vector<bool> gone(graph.nodes.size(), false);
  for (u32 i : indices) gone[i] = true;
  size_t kept = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

size_t remove_dead_nodes(Graph& graph) {
  std::vector<bool> live(graph.value_count(), false);
  for (ValueId id : graph.outputs) live[id] = true;
  std::vector<u32> dead;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId id) { return id != kNoValue && live[id]; });
    if (!used) {
      dead.push_back(static_cast<u32>(i));
      continue;
    }
    for (ValueId id : node.inputs) {
      if (id != kNoValue) live[id] = true;
    }
  }
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (!live[id]) graph.value(id).constant = {};
  }
  erase_nodes(graph, dead);
  return dead.size();
}

}  // namespace octet
