// SPDX-License-Identifier: Apache-2.0
// Layers that would be INT8 by themselves, and whose neighbors give them no codes or take none.
#pragma once

#include "graph/graph.h"
#include "precision/asked.h"
#include "precision/precision.h"

namespace octet {

// After each node has its own decision. Plugins choose their combination of types here, by what is before and behind them.
void demote_without_neighbors(Graph& graph, const Uses& uses, const Ranges& ranges,
                              const AskedTypes& asked);

}  // namespace octet
