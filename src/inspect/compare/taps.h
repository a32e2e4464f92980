// SPDX-License-Identifier: Apache-2.0
// Makes inner values of a graph visible: a copy of the graph whose outputs are those values, dequantized. It is planned and
// run like any other graph, so what is seen is what the kernels computed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet {

// Names of the values that nodes compute and that stand for real numbers (f32, or codes with scale and zero point).
std::vector<std::string> tappable_values(const Graph& graph);

// Outputs are exactly `names`, in that order, all f32. Nodes that only other outputs needed are gone.
Graph tap_graph(const Graph& graph, std::span<const std::string> names);

}  // namespace octet
