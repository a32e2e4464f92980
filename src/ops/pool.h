// SPDX-License-Identifier: Apache-2.0
// Geometry of MaxPool, AveragePool, LpPool and QAveragePool.
#pragma once

#include "graph/op_def.h"
#include "ops/window.h"

namespace octet {

struct PoolGeometry {
  s64 batch = 1;
  s64 channels = 1;
  bool count_include_pad = false;
  Window window;

  Shape output_shape() const { return window.output_shape(batch, channels); }
  // Elements that the average at output (d, h, w) divides by: those inside the input, or with count_include_pad those
  // inside the padded input (a window that ceil_mode lets hang over its end does not count the overhang).
  s64 divisor(s64 d, s64 h, s64 w) const;
};

PoolGeometry pool_geometry(const Node& node, const Shape& input);

}  // namespace octet
