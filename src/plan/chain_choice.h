// SPDX-License-Identifier: Apache-2.0
// Which chains a plan takes where several want the same nodes.
#pragma once

#include <span>
#include <vector>

#include "core/types.h"

namespace octet {

// A chain that is less dear than its parts: its nodes, ascending, and the cycles that it saves.
struct ChainOffer {
  std::vector<u32> nodes;
  f64 saves = 0;
};

// For each whether it is taken: no two share a node, and all together save most. Best is found where chains that share nodes lie along one
// path of the graph; elsewhere two whose nodes lie between each other's are not taken together.
std::vector<bool> choose_chains(std::span<const ChainOffer> offers, size_t graph_nodes);

}  // namespace octet
