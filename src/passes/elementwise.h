// SPDX-License-Identifier: Apache-2.0
// Nodes whose result follows, element for element, from their inputs broadcast.
#pragma once

#include "graph/graph.h"

namespace octet {

// Of one result.
bool is_elementwise(const Node& node);
// Whether shapes are known, and dimensions that are equal are equal sizes whatever the sizes are (passes/infer_types.h).
bool are_equal_sizes(const Shape& a, const Shape& b);

}  // namespace octet
