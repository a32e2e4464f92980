// SPDX-License-Identifier: Apache-2.0
// Attention of codes that no kernel takes whole, and why.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet::cuda {

// Attention of codes that ends with node `last` (families/attention/attention.h), or what stands in its place, from scores of any kind to the
// product by values; none where that product is not of a Softmax.
std::vector<u32> find_attention_or_pieces(const Graph& graph, const Uses& uses, u32 last);
// Of such nodes as a graph that are no attention of codes.
std::string why_in_pieces(const Graph& pieces);

}  // namespace octet::cuda
