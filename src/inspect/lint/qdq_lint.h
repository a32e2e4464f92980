// SPDX-License-Identifier: Apache-2.0
// The lint of Q/DQ models: the rules of docs/qdq.md on the graph as it was imported, and what the build made of it.
#pragma once

#include <span>
#include <string>

#include "graph/graph.h"
#include "octet/qdq_lint.h"

namespace octet {

// `built` is the model that was made of `imported`; nodes are known to each other by their names. `default_zero_points` names the nodes
// that have no zero point of their own in the file.
QdqLint lint_qdq(const Graph& imported, const Graph& built,
                 std::span<const std::string> default_zero_points);

}  // namespace octet
