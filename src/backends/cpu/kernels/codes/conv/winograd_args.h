// SPDX-License-Identifier: Apache-2.0
// What one call of the Winograd kernels gets. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/conv/conv_args.h"

namespace octet {

inline constexpr s64 kWinogradPatch =
    16;  // numbers of a patch of 4 x 4 inputs, and products of a 3x3 window's transform
inline constexpr s64 kWinogradTiles = 6;  // tiles of 2 x 2 outputs that are multiplied together

// The patch of one tile, all channels, to [patch][tiles][channels] of s16.
struct WinogradInput {
  const u8* rows[4];  // pixel 0 of each row of the patch
  s64 columns[4];     // bytes from there to each column
  s64 channels;       // a multiple of 16
  s16* dst;
  s64 patch_stride;  // elements between the numbers of a patch
};

// Some tiles times 16 output channels: products, their transform and the epilogue.
struct WinogradBlock {
  const s16* patches;  // [patch][tiles][channels]
  s64 patch_stride;
  s64 tiles;
  s64 channels;
  const s16* weights;  // [patch][channels / 2][16][2]
  s32* sums;           // [patch][tiles rounded up to kWinogradTiles][16]
  // The four pixels of each tile in `output`, in rows; what lies outside the image goes elsewhere.
  u8* const* dst;
  const u8* const* residual;  // or null
  ConvTile output;            // bias, multiplier, channels and epilogue of the block
};

OCTET_X86_64(void, winograd_input_avx2, const WinogradInput& input);
OCTET_X86_64(void, winograd_block_avx2, const WinogradBlock& block);

}  // namespace octet
