// SPDX-License-Identifier: Apache-2.0
// Weights of a convolution in the order of matrix tiles. A window is runs of bytes that touch: of each tap its channels, or
// of all taps of a row where pixels are dense (conv_run_bytes); a run is padded to whole steps of 64 bytes.
#pragma once

#include <vector>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/tile_args.h"

namespace octet {

struct PackedTiles {
  s64 padded_channels = 0;    // of a group
  AlignedVector<s8> weights;  // [groups][channel tiles][steps][kTileWeights]
  AlignedVector<s32> bias;    // [groups][padded_channels]
  AlignedVector<f32> multiplier;
};

// What of a packing the geometry does not tell.
struct TileOrder {
  s64 run_bytes;
  s64 steps;  // of a window
  bool wide;  // blocks of four tiles of channels, interleaved; see TileJob
};

PackedTiles pack_tiles(const ConvGeometry& geometry, const TileOrder& order,
                       const ConvConstants& constants, Isa isa);

// Bytes from a window to each step's.
std::vector<s64> step_offsets(const ConvGeometry& g, const ImageStrides& in, s64 run_bytes);

}  // namespace octet
