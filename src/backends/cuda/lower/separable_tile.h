// SPDX-License-Identifier: Apache-2.0
// The tiles that kernels/separable.cu can take for a depthwise convolution with the 1x1 convolutions around it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

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

// The constants of kernels/separable.cu of these names.
struct SeparableTile {
  s64 th = 8, tw = 16, rows = 4, slice = 32;
  s64 warps_m = 4, warps_n = 1, tiles_m = 2, tiles_n = 2;
  s64 blocks = 2;  // that share a multiprocessor

  s64 threads() const { return 32 * warps_m * warps_n; }
  s64 pixels() const { return th * tw; }
  s64 quads() const { return tw / 4; }
  s64 places() const { return quads() * (th / rows); }
  s64 outputs() const { return 8 * tiles_n * warps_n; }
  std::string name() const;
};

// Sizes that the kernel's head derives, and where things lie in shared memory, in bytes.
struct SeparableMemory {
  s64 in_rows = 0, span = 0, in_quads = 0, in_units = 0, plane = 0;
  s64 slices = 0, channels = 0;  // filled up to whole slices
  s64 k_pitch = 0, a_bytes = 0, p_pitch = 0, taps = 0;
  s64 expand_ends = 0, taps_at = 0, scales = 0, project = 0, project_ends = 0, tables = 0;
  s64 kept = 0;  // bytes of all that
  s64 x = 0, inside = 0, planes = 0, a = 0, all = 0;
};

s64 tiles_of(const SeparableRequest& request, const SeparableTile& tile);
SeparableMemory memory_of(const SeparableRequest& request, const SeparableTile& tile);
f64 separable_cost(const SeparableRequest& request, const SeparableTile& tile, const Chip& chip);
// Those that fit the chip, the one with the least estimated cost first.
std::vector<SeparableTile> separable_tiles(const SeparableRequest& request, const Chip& chip);

}  // namespace octet::cuda
