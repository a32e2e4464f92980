// SPDX-License-Identifier: Apache-2.0
// The multiplier of integer averages (docs/numerics.md section 5), shared by QAveragePool and QReduceMean.
#pragma once

#include "core/types.h"
#include "graph/graph.h"

namespace octet {

// Attribute `scales` = [scale_x, scale_y].
struct MeanScales {
  f32 x = 1.0f;
  f32 y = 1.0f;

  // fl(fl(scale_x / n) / scale_y)
  f32 multiplier(s64 n) const { return x / static_cast<f32>(n) / y; }
};

MeanScales mean_scales(const Node& node);

}  // namespace octet
