// SPDX-License-Identifier: Apache-2.0
// What stands between a product of two activations and its Softmax.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/graph_edit.h"

namespace octet {

// One for each node: it scales, masks or adds to the scores of attention, or makes nothing but what does. Kernels of attention compute such
// a node in f32 where the scores are; codes of it would cost a step each, and of a mask of -3.4e38 all scores.
std::vector<bool> nodes_of_scores(const Graph& graph, const Uses& uses);

}  // namespace octet
