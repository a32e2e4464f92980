// SPDX-License-Identifier: Apache-2.0
#include "passes/moved.h"

#include "passes/match.h"

namespace octet {

std::optional<MovedSource> moved_source(Graph& graph, const Uses& uses, ValueId id,
                                        bool (*takes)(const Graph&, const Node&)) {
  MovedSource source{nullptr, {}};
  for (;;) {
    if (only_reader(graph, uses, id) == nullptr) return std::nullopt;
    Node* before = producer_of(graph, uses, id);
    if (before == nullptr) return std::nullopt;
    if (takes(graph, *before)) {
      source.node = before;
      return source;
    }
    if (!before->op->traits->permutes) return std::nullopt;
    source.moves.push_back(before);
    id = before->inputs[0];
  }
}

void replace_behind_moves(Graph& graph, const MovedSource& source, Node fused, Node& last) {
  if (source.moves.empty()) return replace_fused(last, std::move(fused), *source.node);
  const auto take_type = [&](ValueId id) {
    graph.value(id).type.dtype = graph.value(last.outputs[0]).type.dtype;
    graph.value(id).quant = graph.value(last.outputs[0]).quant;
  };
  append_origins(fused, last);
  take_type(fused.outputs[0]);
  *source.node = std::move(fused);
  for (Node* move : source.moves) take_type(move->outputs[0]);
  Node moved = *source.moves.front();
  moved.outputs = last.outputs;
  last = std::move(moved);
}

}  // namespace octet
