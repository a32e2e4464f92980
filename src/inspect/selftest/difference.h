// SPDX-License-Identifier: Apache-2.0
// What a self-test says of a run.
#pragma once

#include <span>
#include <string>

#include "graph/graph.h"

namespace octet {

// The first output of a graph whose bytes are not those wanted, how many, and where they begin; empty: none.
std::string first_difference(const Graph& graph, std::span<const Tensor> got,
                             std::span<const Tensor> want);

}  // namespace octet
