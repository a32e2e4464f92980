// SPDX-License-Identifier: Apache-2.0
// What one call of a convolution kernel gets: a few output pixels times a range of output channels.
// A convolution is a sum over chunks of four input bytes at fixed offsets from each pixel; where those come from (taps,
// groups, a channel tail, a row of a matrix) is the packing's business alone. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

inline constexpr s64 kConvChunk = 4;      // input bytes of one chunk
inline constexpr s64 kConvLanes = 16;     // packed channels are padded to this
inline constexpr s64 kConvMaxPixels = 6;  // of any kernel

inline constexpr s64 kPairLanes = 8;     // channels of a block of the pair kernels
inline constexpr s64 kPairVariants = 8;  // of a prepared row, at most

// Bytes of a window that lie one behind the other, in chunks.
struct ConvRun {
  s64 offset;
  s64 chunks;
};

// The rows of bytes from which the pair kernels multiply, one for each pixel: all chunks of the window in several variants,
// one behind the other, perhaps followed by all of its bytes as words. See conv_pairs.h.
struct ConvPairRows {
  s64 first_run;
  s64 run_count;
  s64 bytes;     // of one variant, rounded up to whole registers
  s64 variants;  // none: there are no rows, and positions are relative to ConvTile::src
  s32 orders[kPairVariants];  // for vpshufb, of one chunk
  s32 flips[kPairVariants];   // bits to invert
  bool words;
  s64 pitch;  // from row to row
};

// The steps of 8 channels. A position is where in a row the four bytes of a chunk begin.
struct ConvPairBlock {
  s64 first_position;
  s64 first_weight;
  s64 doubles;  // two chunks whose sums of pairs add up in s16
  s64 singles;
  s64 swapped[2];  // read in place: bytes in the orders 0 2 1 3 and 0 3 1 2
  s64 words;
};

struct ConvTile {
  const u8* const* src;       // for each pixel, the address to which `offsets` are relative
  u8* const* dst;             // for each pixel, its channel 0 (f32 when the epilogue is real)
  const u8* const* residual;  // for each pixel, its channel 0; null when there is none
  s64 pixels;                 // 1 .. ConvKernel::pixels
  const s64* offsets;         // of each chunk, in bytes
  s64 chunks;
  const void* weights;  // packed blocks, see ConvKernel
  // Of the pair kernels, whose `weights` are those of all blocks.
  const ConvPairRows* pair_rows = nullptr;
  const ConvRun* pair_runs = nullptr;
  const ConvPairBlock* pair_blocks = nullptr;
  const s32* pair_positions = nullptr;
  const s32* bias;        // for each channel, padded; with the zero point's share
  const f32* multiplier;  // likewise
  s64 first_channel;      // position of this range in dst and residual
  s64 channels;
  // Only codes and perhaps a table: no residual, no slope, nothing that leaves the range of s32 before rounding.
  bool plain = false;
  bool bounded = false;  // no product of sum and multiplier, with the residual, passes 2^31
  const s32* row_bias;   // for each pixel, added to the accumulators; null when there is none
  void* scratch;         // ConvKernel::scratch_bytes
  const EpilogueArgs* epilogue;
};

void conv_u8s8_1x16_plain(const ConvTile& tile);
OCTET_X86_64(void, conv_u8s8_6x16_avx2, const ConvTile& tile);
OCTET_X86_64(void, conv_u8s8_6x16_pairs_avx2, const ConvTile& tile);
OCTET_X86_64(void, conv_u8s8_6x16_avxvnni, const ConvTile& tile);
OCTET_X86_64(void, conv_u8s8_6x64_vnni, const ConvTile& tile);
OCTET_AARCH64(void, conv_u8s8_6x16_neon, const ConvTile& tile);
OCTET_AARCH64(void, conv_u8s8_6x16_dotprod, const ConvTile& tile);
OCTET_AARCH64(void, conv_u8s8_6x16_i8mm, const ConvTile& tile);

}  // namespace octet
