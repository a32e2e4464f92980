// SPDX-License-Identifier: Apache-2.0
// What one call of a convolution kernel gets: a few output pixels times a range of output channels.
// A convolution is a sum over chunks of four input bytes at fixed offsets from each pixel; where those come from (taps,
// groups, a channel tail, a row of a matrix) is the packing's business alone. Included by instruction-set files.
#pragma once

#include "backends/cpu/kernels/epilogue_args.h"
#include "core/types.h"

namespace octet {

inline constexpr s64 kConvChunk = 4;      // input bytes of one chunk
inline constexpr s64 kConvLanes = 16;     // packed channels are padded to this
inline constexpr s64 kConvMaxPixels = 6;  // of any kernel

// A block of 16 channels whose weights were sorted by the way in which their bytes pair up: see conv_pairs.h.
struct ConvPairBlock {
  s64 first_offset;  // index of its steps' offsets
  s64 first_weight;  // and weights
  s64 steps
      [5];  // of each pairing, then of the first and the last 8 channels alone, as the bytes lie
};

struct ConvTile {
  const u8* const* src;       // for each pixel, the address to which `offsets` are relative
  u8* const* dst;             // for each pixel, its channel 0 (f32 when the epilogue is real)
  const u8* const* residual;  // for each pixel, its channel 0; null when there is none
  s64 pixels;                 // 1 .. ConvKernel::pixels
  const s64* offsets;         // of each chunk, in bytes
  s64 chunks;
  const void* weights;  // packed blocks, see ConvKernel
  // Of the pair kernels; `offsets` and `weights` are then those of all blocks.
  const ConvPairBlock* pair_blocks = nullptr;
  const s32* bias;        // for each channel, padded; with the zero point's share
  const f32* multiplier;  // likewise
  s64 first_channel;      // position of this range in dst and residual
  s64 channels;
  // Only codes and perhaps a table: no residual, no slope, nothing that leaves the range of s32 before rounding.
  bool plain = false;
  const s32* row_bias;  // for each pixel, added to the accumulators; null when there is none
  void* scratch;        // ConvKernel::scratch_bytes
  const EpilogueArgs* epilogue;
};

void conv_u8s8_1x16_plain(const ConvTile& tile);
void conv_u8s8_6x16_avx2(const ConvTile& tile);
void conv_u8s8_6x16_pairs_avx2(const ConvTile& tile);
void conv_u8s8_6x16_avxvnni(const ConvTile& tile);
void conv_u8s8_6x64_vnni(const ConvTile& tile);

}  // namespace octet
