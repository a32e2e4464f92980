// SPDX-License-Identifier: Apache-2.0
// The attributes of DepthToSpace and SpaceToDepth.
#pragma once

#include "core/types.h"
#include "graph/graph.h"

namespace octet {

struct SpaceDepth {
  s64 block = 1;
  bool depth_first = true;  // mode "DCR"
};

// Throws Error(invalid_model) for another rank than 4, a block size below 1, or an unknown mode.
SpaceDepth space_depth_of(const Node& node, const Shape& input);

}  // namespace octet
