// SPDX-License-Identifier: Apache-2.0
// What a user should know of the plugins' operators in a model: where Q/DQ stand around them, and what Octet has itself.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet {

// Of the graph after the float passes, one line each.
std::vector<std::string> plugin_notes(const Graph& graph);

}  // namespace octet
