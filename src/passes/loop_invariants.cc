// SPDX-License-Identifier: Apache-2.0
// What a Loop carries and its body gives back as it came is a capture: exporters of while loops (tf2onnx) carry weights like that. A
// constant is then the body's own, and what the body makes of it (transposed, split) is computed once.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ops/attributes/bodies.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// The value that Identity nodes hand on.
ValueId origin_of(const Graph& graph, const Uses& uses, ValueId id) {
  for (s32 at = uses.producer(id); at >= 0; at = uses.producer(id)) {
    const Node& node = graph.nodes[static_cast<size_t>(at)];
    if (!is_op(node, "Identity")) break;
    id = node.inputs[0];
  }
  return id;
}

std::vector<size_t> invariants(const Graph& body, s64 carried) {
  const Uses uses(body);
  std::vector<size_t> found;
  for (size_t i = static_cast<size_t>(carried); i-- > 0;) {
    if (origin_of(body, uses, body.outputs[1 + i]) == body.inputs[2 + i]) found.push_back(i);
  }
  return found;
}

// A Loop that only counts stays, with the limit for its trips.
bool leaves_nothing(const Node& loop, const std::vector<size_t>& found) {
  return std::ssize(found) == attribute_of<&LoopAttributes::carried>(loop) &&
         loop.outputs.size() <= found.size();
}

// Without those at `first` plus one of the indices.
std::vector<ValueId> without(const std::vector<ValueId>& ids, size_t first,
                             std::span<const size_t> found) {
  std::vector<bool> leaves(ids.size());
  for (const size_t i : found) {
    if (first + i < ids.size()) leaves[first + i] = true;
  }
  std::vector<ValueId> rest;
  for (size_t at = 0; at < ids.size(); ++at) {
    if (!leaves[at]) rest.push_back(ids[at]);
  }
  return rest;
}

void move_to_end(std::vector<ValueId>& ids, size_t first, std::span<const size_t> found) {
  std::vector<ValueId> moved = without(ids, first, found);
  for (const size_t i : found) moved.push_back(ids[first + i]);
  ids = std::move(moved);
}

// The last value of what stays as it is.
Node handed_on(const Graph& graph, const Node& loop, ValueId from, ValueId to) {
  Node node = node_beside(loop, find_op("Identity"), graph.value(to).name, {from});
  node.outputs = {to};
  return node;
}

}  // namespace

void loop_invariants(Graph& graph, Rewrites& rewrites) {
  GraphEdit edit(graph);
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    Node& node = graph.nodes[at];
    if (!is_op(node, "Loop")) continue;
    const auto loop = attributes_of<LoopAttributes>(node);
    const std::vector<size_t> found = invariants(*loop.body, loop.carried);
    if (found.empty() || leaves_nothing(node, found) || !rewrites.allow()) continue;
    auto body = std::make_shared<Graph>(*loop.body);
    for (const size_t i : found) {
      const ValueId last = i < node.outputs.size() ? node.outputs[i] : kNoValue;
      if (last != kNoValue)
        edit.insert_before(at, handed_on(graph, node, node.inputs[2 + i], last));
    }
    node.outputs = without(node.outputs, 0, found);
    body->outputs = without(body->outputs, 1, found);
    move_to_end(node.inputs, 2, found);
    move_to_end(body->inputs, 2, found);
    set_attribute<&LoopAttributes::carried>(node.attrs, loop.carried - std::ssize(found));
    set_attribute<&LoopAttributes::body>(node.attrs, std::move(body));
  }
  edit.apply();
}

}  // namespace octet
