// SPDX-License-Identifier: Apache-2.0
// How much multiplying a node does: the weight that it gets in coverage.
#pragma once

#include <span>

#include "core/types.h"
#include "graph/graph.h"

namespace octet {

// Multiply-accumulates of one run of the node for concrete types (one for each input and output; rank 0 where omitted).
// 0 for operators that do not multiply matrices.
s64 count_macs(const Node& node, std::span<const TensorType> inputs,
               std::span<const TensorType> outputs);

}  // namespace octet
