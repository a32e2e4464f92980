// SPDX-License-Identifier: Apache-2.0
// What stands behind a product and becomes part of it although operators that only move elements lie between (the Reshape that makes a
// MatMul of rows a Gemm).
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace octet {

// What makes a value, and the moves between, the last first.
struct MovedSource {
  Node* node;
  std::vector<Node*> moves;
};

// The nearest node that `takes` accepts; nothing when somebody else reads what it makes on its way to `id`'s only reader.
std::optional<MovedSource> moved_source(Graph& graph, const Uses& uses, ValueId id,
                                        bool (*takes)(const Graph&, const Node&));

// `fused` is the source's node with what `last` does; the moves then move its results, and the last of them takes the place of `last`.
void replace_behind_moves(Graph& graph, const MovedSource& source, Node fused, Node& last);

}  // namespace octet
