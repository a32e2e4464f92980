// SPDX-License-Identifier: Apache-2.0
// Weights of 16-bit layers lie in engine files with 16 bits an element.
#pragma once

#include "graph/graph.h"

namespace octet {

// Whether layers of 16 bits are in the graph: others leave it as it is.
bool has_halves(const Graph& graph);
// The graph with each f32 constant that 16-bit layers alone read, and whose elements their type holds, as a Cast of a 16-bit constant.
Graph with_stored_halves(Graph graph);
// Takes these casts out again.
void widen_stored_halves(Graph& graph);

}  // namespace octet
