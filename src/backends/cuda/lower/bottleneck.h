// SPDX-License-Identifier: Apache-2.0
// A bottleneck as kernels/bottleneck.cu sees it, and what it reads of constants.
#pragma once

#include <vector>

#include "backends/cuda/lower/conv_request.h"

namespace octet::cuda {

enum class Shortcut : u8 { none, identity, projection };

struct Bottleneck {
  ConvRequest reduce, spatial, expand;
  ConvRequest project;  // where that is the shortcut
  Shortcut shortcut = Shortcut::none;
  bool bias_added = false;  // some bias has too many digits for a product
  s64 warpgroups = 3, stages = 2;

  static constexpr s64 kWidth = 64;  // channels of a tile, rows of a product
  static constexpr s64 kTileBytes = kWidth * kWidth;

  s64 rows() const { return expand.geometry.batch * expand.h().out; }
  s64 chunks() const;  // of 64 channels of x
  s64 groups() const;  // of 64 channels of y
  // Groups of 64 channels that end somewhere: reduced, spatial, expanded, projected.
  s64 ends() const { return 2 + groups() * (shortcut == Shortcut::projection ? 2 : 1); }
};

// First tiles of weights and of biases, and how many there are.
struct BottleneckTiles {
  s64 spatial, expand, project, bias, all;
  explicit BottleneckTiles(const Bottleneck& block);
};

// Whether the digits of all biases fit a product of 32 bytes of k.
bool biases_have_digits(const Bottleneck& block);
// The tiles; scales and, where they are added, biases of all ends in the kernel's order.
std::vector<BlobRecipe> bottleneck_blobs(const Bottleneck& block);

}  // namespace octet::cuda
