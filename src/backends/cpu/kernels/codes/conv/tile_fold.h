// SPDX-License-Identifier: Apache-2.0
// Stems read images of 3 or 4 channels with stride 2: of a matrix tile's 64 bytes a row of such a window fills few. Where 2 x 2
// pixels are folded into one of 16 channels, the window has half its rows and columns and steps by one: the same sums from
// fewer and fuller steps. Rows are folded as they are copied into a thread's buffer, border and all.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/tile_args.h"

namespace octet {

// Of a convolution in another geometry: as they were given, for who has packed them already, or turned into that geometry.
enum class TileConstants { given, turned };

// Whether folding is faster on matrix tiles.
bool folds(const ConvGeometry& geometry);
// The geometry over folded pixels, which have their border.
ConvGeometry folded_geometry(const ConvGeometry& geometry);
// The geometry over what tiles read: folded or as it is.
ConvGeometry tile_geometry(const ConvGeometry& geometry);

// The image as it was, and how its rows are folded.
class FoldedInput {
 public:
  FoldedInput(const ConvGeometry& geometry, const Placement& placement, u8 padding);

  // Output rows whose folded rows stay in L1.
  s64 band_rows() const;
  // Of their folded rows.
  s64 buffer_bytes() const;
  // Two rows of pixels before they are folded.
  s64 scratch_bytes() const { return 2 * row_bytes(); }

  struct Band {
    const u8* images;
    s64 image, first, rows;  // of output
    u8* scratch;
    u8* dst;
  };
  // The folded rows that the output rows read.
  void copy(void (*fold)(const FoldJob&), const Band& band) const noexcept;

 private:
  s64 blocks() const { return folded_.w().in; }
  s64 row_bytes() const;
  void fill_row(const u8* image, s64 row, u8* dst) const noexcept;

  Window window_, folded_;
  s64 channels_;
  Placement placement_;
  u8 padding_;
  std::array<u8, 64> order_;  // see FoldJob
};

// Holds what the folded convolution's spec refers to, if it folds; else the spec as it is.
class FoldedConv {
 public:
  FoldedConv(const ConvSpec& spec, TileConstants constants);
  FoldedConv(const FoldedConv&) = delete;
  FoldedConv& operator=(const FoldedConv&) = delete;

  const ConvSpec& spec() const { return spec_; }
  const std::optional<FoldedInput>& input() const { return input_; }

 private:
  void fold_weights(const ConvSpec& spec);

  ConvSpec spec_;
  std::optional<FoldedInput> input_;
  std::vector<s8> weights_;
};

}  // namespace octet
