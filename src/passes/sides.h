// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "graph/graph_edit.h"

namespace octet {

// Which input of a sum is looked at first: of two products the later one takes the other's result.
inline std::array<size_t, 2> later_side_first(const Uses& uses, const Node& sum) {
  const bool first = uses.producer(sum.inputs[0]) > uses.producer(sum.inputs[1]);
  return first ? std::array<size_t, 2>{0, 1} : std::array<size_t, 2>{1, 0};
}

}  // namespace octet
