// SPDX-License-Identifier: Apache-2.0
// Scales and zero points, as the inspector shows them.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "octet/inspect.h"

namespace octet {

// Of a value that a run computes.
CodeScale code_scale(const Value& value);

// The constants that a node reads. A product keeps one multiplier for each channel, fl(x * weights / result); the scales of its
// weights follow from it. Where a table makes the codes of the result, no scale of theirs is left to follow from.
std::vector<ConstantInfo> constants_of(const Graph& graph, const Node& node);

}  // namespace octet
