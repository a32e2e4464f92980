// SPDX-License-Identifier: Apache-2.0
// The tiles that a depthwise convolution with the 1x1 convolutions around it can take.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/families/separable/spec.h"
#include "backends/cuda/lower/conv_cost.h"

namespace octet::cuda {

struct SeparableRequest {
  std::optional<ConvRequest> expand, project;
  ConvRequest window;
  bool window_s8 = false;  // codes of the window's result
  bool pooled = false;     // by 2x2
  Shape y;

  // Of expand, window and project, those there are.
  std::array<const ConvRequest*, 3> parts() const {
    return {expand ? &*expand : nullptr, &window, project ? &*project : nullptr};
  }
  const ConvRequest& first() const { return expand ? *expand : window; }
  const ConvRequest& last() const { return project ? *project : window; }
};

separable::Sizes sizes_of(const SeparableRequest& request);

// As a candidate is named by it.
std::string name_of(const separable::Tile& tile);

f64 separable_cost(const SeparableRequest& request, const separable::Tile& tile, const Chip& chip);
// Those that fit the chip, the one with the least estimated cost first.
std::vector<separable::Tile> separable_tiles(const SeparableRequest& request, const Chip& chip);

}  // namespace octet::cuda
