// SPDX-License-Identifier: Apache-2.0
// What a node reads and writes, in the form that traits and lowerings ask for it.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace octet {

// The types of these values; rank 0 for one that is omitted (kNoValue).
inline std::vector<TensorType> types_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<TensorType> types;
  types.reserve(ids.size());
  for (const ValueId id : ids)
    types.push_back(id == kNoValue ? TensorType{} : graph.value(id).type);
  return types;
}

}  // namespace octet
