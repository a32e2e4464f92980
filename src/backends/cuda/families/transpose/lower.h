// SPDX-License-Identifier: Apache-2.0
// Axes of a walk, and walks whose output's neighbours lie apart in the input. Private to walks.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "backends/cuda/lower/walk.h"

namespace octet::cuda {

struct WalkAxis {
  s64 size = 1;
  std::array<s64, 4> strides = {};  // of each operand
  const WalkMap* map = nullptr;
};

// Axes of one element are left out, neighbours that lie together in all operands are one; the last is the output's innermost.
std::vector<WalkAxis> walk_axes(const Walk& walk);

// Null where the kernel of map does as well.
std::optional<Launch> transpose_launch(const Walk& walk, const std::vector<WalkAxis>& axes);

}  // namespace octet::cuda
