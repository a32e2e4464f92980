// SPDX-License-Identifier: Apache-2.0
// What one call of the tile kernel gets: a range of tiles of output pixels times a range of channels.
// Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

inline constexpr s64 kTileRows = 16;     // most pixels of a tile
inline constexpr s64 kTileColumns = 16;  // channels of a tile
inline constexpr s64 kTileStep = 64;     // bytes of a pixel's window that one multiplication reads
inline constexpr s64 kTileWeights = 1024;  // bytes of one step's weights: [16][16 channels][4]
// Where rows that are no pixels go: a block's width of reals.
inline constexpr s64 kNowhereBytes = 256;
// Two blocks of accumulators: one is multiplied into while the other becomes codes. Then the place of rows that go nowhere.
inline constexpr s64 kTileSumBytes = 2 * 4096 + kNowhereBytes;

// Output pixels are the positions of lines. A tile is `rows` neighbouring positions of one line; the last of a line may
// overlap the one before it, so that all have the same height.
struct TileGrid {
  s64 rows;
  s64 line;   // positions of a line, at least `rows`
  s64 tiles;  // of a line
  s64 lines;  // of an image
  // Where a line runs over several rows of a padded image: of each `pitch` positions the first `run` are pixels, the
  // others windows that straddle two rows. They are computed and dropped.
  s64 run, pitch;
};

// Bytes between neighbours; the middle two are used in turn: a line either has several rows or is one.
struct TileStrides {
  s64 pixel;
  s64 row;   // between the rows within a line
  s64 line;  // between the lines of an image
  s64 image;
};

struct TileJob {
  const u8* src;       // window of position 0
  const u8* src_end;   // nothing at or after this address is read
  u8* dst;             // channel 0 of position 0 (f32 when the epilogue is real)
  const u8* residual;  // likewise, or null
  TileGrid grid;
  TileStrides in;  // `row` is not used: positions of a line are evenly spaced
  TileStrides out;
  TileStrides residual_strides;
  s64 first_tile, last_tile;
  s64 chunk_tiles;  // tiles that pass by all channels before the next ones do
  // Bytes from a window to the step's 64 bytes; those that the window lacks meet zero weights.
  const s64* offsets;
  const s64* copied_offsets;  // the same for windows that were copied: 0, 64, 128, ...
  s64 steps;
  // Most channel tiles of a block: 4 or 2. With 4, weights, bias and multipliers of each 4 tiles stand so that channel
  // 16 * l + 4 * t + i is column 4 * l + i of tile t: narrowing registers in 128-bit lanes then puts the channels in order.
  s64 widest;
  const s8* weights;  // [channel tiles][steps][kTileWeights]
  const s32* bias;    // padded to whole tiles, with the zero point's share
  const f32* multiplier;
  s64 first_channel, last_channel;  // whole tiles, but for the last of all
  bool bounded;  // no product of sum and multiplier, with the residual, passes 2^31
  s32* sums;     // kTileSumBytes
  u8* windows;  // room for four copied tiles, kTileRows * steps * kTileStep each; none if nothing lies behind src_end
  const EpilogueArgs* epilogue;
};

OCTET_X86_64(void, conv_u8s8_tiles_amx, const TileJob& job);

// Two rows of pixels become one of folded pixels (tile_fold.h): two pixels of the upper row, two of the lower, filled up.
inline constexpr s64 kFoldedChannels = 16;

struct FoldJob {
  const u8* upper;  // both readable for 64 bytes behind their last pixel
  const u8* lower;
  u8* dst;     // written in whole registers: up to 48 bytes too far
  s64 pixels;  // folded
  s64 pair;    // bytes of two pixels
  const u8*
      order;  // of the 64 bytes of four folded pixels: bytes of the upper row, and, from 64 on, of the lower
};

OCTET_X86_64(void, fold_rows_amx, const FoldJob& job);

}  // namespace octet
