// SPDX-License-Identifier: Apache-2.0
// Nodes that take neighbouring channels of an image as they are: Slice and Split.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace octet {

// Of such a node, of known sizes: the first channel of input 0 that each output holds, whose others follow it. Empty where the node is another, or takes anything else.
std::vector<s64> channel_runs(const Graph& graph, const Node& node);

}  // namespace octet
