// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet {

// Along which a Gather, Concat, Split, ScatterElements... works, as an index below the rank of its data.
inline int axis_of(const Node& node, int rank) {
  return normalize_axis(attribute_of<&AxisAttributes::axis>(node), rank);
}

}  // namespace octet
