// SPDX-License-Identifier: Apache-2.0
// Orders nodes so that every producer stands before its consumers.
#pragma once

#include <vector>

#include "core/types.h"

namespace octet {

struct Order {
  std::vector<u32> nodes;  // a stable topological order, when `cycle` is empty
  std::vector<u32> cycle;  // the nodes of one cycle, each reading the one before it
};

// depends_on[n] lists the nodes whose outputs node n reads (repeats allowed).
Order topological_order(const std::vector<std::vector<u32>>& depends_on);

}  // namespace octet
