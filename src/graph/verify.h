// SPDX-License-Identifier: Apache-2.0
// The invariants of the IR, checked after import, after every pass, and on every loaded engine.
#pragma once

#include "graph/graph.h"

namespace octet {

// Throws Error(invalid_model) naming the first broken rule: ids in range, single assignment, topological order, arity and
// required inputs of each operator, constants whose type matches their value, zero points of values that are those of the nodes around them.
void verify(const Graph& graph);

}  // namespace octet
