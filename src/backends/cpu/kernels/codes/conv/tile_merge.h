// SPDX-License-Identifier: Apache-2.0
// Convolutions with few channels leave columns of a matrix tile empty. Where `p` neighbouring output pixels are taken as one
// of p times the channels, with a window that covers all their windows and zeros between, the columns fill up: the same
// sums, fewer and fuller registers.
#pragma once

#include <vector>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/tile_fold.h"

namespace octet {

// What one multiplication by each tile of a line of pixels takes, in units of a row: as long as its rows and five more, and no
// less than that of eight rows, as measured. The tiles are as few and as equal as they can be.
s64 tile_line_cost(s64 pixels);

// Nanoseconds of one image on tiles, as measured; only ratios count.
f64 tile_cost(const ConvGeometry& geometry);

// How many pixels of a row are best taken as one on matrix tiles; 1 for none.
s64 merged_pixels(const ConvGeometry& geometry);

// The geometry in which `pixels` pixels of a row are one.
ConvGeometry merged_geometry(const ConvGeometry& geometry, s64 pixels);

// Holds what the merged convolution's spec refers to, if pixels that touch in memory allow it; else the spec as it is.
class MergedConv {
 public:
  MergedConv(const ConvSpec& spec, TileConstants constants);
  MergedConv(const MergedConv&) = delete;
  MergedConv& operator=(const MergedConv&) = delete;

  const ConvSpec& spec() const { return spec_; }

 private:
  void merge_constants(const ConvSpec& spec, s64 pixels);

  ConvSpec spec_;
  std::vector<s8> weights_;
  std::vector<s32> bias_;
  std::vector<f32> multiplier_;
};

}  // namespace octet
