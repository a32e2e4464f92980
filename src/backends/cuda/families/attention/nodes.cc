// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph are attention.
#include <algorithm>
#include <array>

#include "backends/cuda/families/attention/attention.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/moved_view.h"

namespace octet::cuda {

s32 producer_of(const Graph& graph, const Uses& uses, const NodeInput& input, std::string_view op) {
  const ValueId id = graph.nodes[input.node].input(input.i);
  const s32 producer = id == kNoValue ? -1 : uses.producer(id);
  return producer >= 0 && graph.nodes[static_cast<u32>(producer)].op->name == op ? producer : -1;
}

namespace {

// From what a value is made behind Reshapes that give its matrices other axes of the batch, which nobody else reads; those are noted.
ValueId walk_batches(const Graph& graph, const Uses& uses, ValueId id, std::vector<u32>& nodes) {
  for (s32 n; uses.only_consumer(id) >= 0 && (n = uses.producer(id)) >= 0 &&
              keeps_matrices(graph, graph.nodes[static_cast<size_t>(n)]);) {
    nodes.insert(nodes.begin(), static_cast<u32>(n));
    id = graph.nodes[static_cast<size_t>(n)].inputs[0];
  }
  return id;
}

s32 maker_of(const Graph& graph, const Uses& uses, ValueId id, std::string_view op) {
  const s32 n = id == kNoValue ? -1 : uses.producer(id);
  return n >= 0 && graph.nodes[static_cast<size_t>(n)].op->name == op ? n : -1;
}

}  // namespace

std::vector<u32> find_attention(const Graph& graph, const Uses& uses, u32 last) {
  if (graph.nodes[last].op->name != "QMatMul") return {};
  const s32 softmax = producer_of(graph, uses, {last, kProductX}, "QSoftmax");
  if (softmax < 0) return {};
  std::vector<u32> nodes{static_cast<u32>(softmax), last};
  ValueId id = walk_batches(graph, uses, graph.nodes[nodes[0]].inputs[0], nodes);
  s32 scores = maker_of(graph, uses, id, "QMatMul");
  if (const s32 add = maker_of(graph, uses, id, "Add"); add >= 0) {
    nodes.insert(nodes.begin(), static_cast<u32>(add));
    const std::vector<ValueId> terms = graph.nodes[nodes[0]].inputs;
    for (size_t i = 0; i < 2 && scores < 0; ++i) {
      std::vector<u32> all = nodes;
      scores = maker_of(graph, uses, walk_batches(graph, uses, terms[i], all), "QMatMul");
      if (scores >= 0) nodes = std::move(all);
    }
  }
  if (scores < 0) return {};
  nodes.insert(nodes.begin(), static_cast<u32>(scores));
  return nodes;
}

namespace {

// The moves before an operand that nobody else reads, and what they move.
ValueId walk_moves(const Graph& graph, const Uses& uses, ValueId id, std::vector<u32>& nodes) {
  for (;;) {
    const s32 n = uses.only_consumer(id) < 0 ? -1 : uses.producer(id);
    if (n < 0) return id;
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (!makes_views(node) || node.outputs.size() != 1) return id;
    nodes.push_back(static_cast<u32>(n));
    id = node.inputs[0];
  }
}

}  // namespace

std::vector<u32> find_moved_attention(const Graph& graph, const Uses& uses, u32 last) {
  std::vector<u32> nodes = find_attention(graph, uses, last);
  if (nodes.empty()) return {};
  const Node &scores = graph.nodes[nodes.front()], &context = graph.nodes[last];
  const size_t attention = nodes.size();
  std::array<ValueId, 3> from{};
  for (size_t i = 0; i < 3; ++i) {
    const Node& reader = i < 2 ? scores : context;
    const ValueId id = reader.input(i == 0 ? kProductX : kProductWeights);
    if (!graph.is_constant(id)) from[i] = walk_moves(graph, uses, id, nodes);
  }
  // A Split of which each of the three is a part.
  const s32 split = uses.producer(from[0]);
  if (split >= 0 && uses.producer(from[1]) == split && uses.producer(from[2]) == split) {
    const Node& node = graph.nodes[static_cast<size_t>(split)];
    if (node.op->name == "Split" && node.outputs.size() == 3) {
      nodes.push_back(static_cast<u32>(split));
      walk_moves(graph, uses, node.inputs[0], nodes);
    }
  }
  std::ranges::sort(nodes);
  return nodes.size() > attention ? nodes : std::vector<u32>{};
}

}  // namespace octet::cuda
