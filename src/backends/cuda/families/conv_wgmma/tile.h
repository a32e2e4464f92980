// SPDX-License-Identifier: Apache-2.0
// The tiles that a convolution can have.
#pragma once

#include <vector>

#include "backends/cuda/families/conv_wgmma/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/window_tiles.h"

namespace octet::cuda::conv_wgmma {

// Rows or columns of y, at both ends, whose windows reach into padding.
struct Edge {
  s64 first = 0, last = 0;

  explicit Edge(const WindowAxis& axis);
  s64 classes() const { return 1 + first + last; }
  // The output whose class this is; 0 has none.
  s64 output(s64 index, const WindowAxis& axis) const {
    return index <= first ? index - 1 : axis.out - last + (index - 1 - first);
  }
};

struct CostedSpec {
  Spec spec;
  f64 cost = 0;
};
// With each tile that fits the chip, the one with the least estimated cost first; none where the kernel cannot run it. Where values lie is not known yet.
std::vector<CostedSpec> specs_of(const ConvRequest& conv, const Chip& chip);

}  // namespace octet::cuda::conv_wgmma
