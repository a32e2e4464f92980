// SPDX-License-Identifier: Apache-2.0
// Where each element of a padded tensor comes from.
#pragma once

#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "octet/tensor.h"
#include "ops/shared/axis_maps.h"

namespace octet {

struct PadRequest {
  const Node& node;  // for its mode
  Shape input, output;
  std::vector<s64> pads, axes;
  bool has_axes;
};

// Empty when the output is. Throws Error(invalid_model) for pads that do not fit.
AxisMaps pad_maps(const PadRequest& request);

}  // namespace octet
