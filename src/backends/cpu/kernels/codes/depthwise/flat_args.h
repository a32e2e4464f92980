// SPDX-License-Identifier: Apache-2.0
// What one call of a flat depthwise kernel gets: the same 64 bytes of a band of rows. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

inline constexpr s64 kFlatBytes = 64;
inline constexpr s64 kFlatPairBytes = 128;
inline constexpr s64 kFlatMaxPieces = 10;

// With adjacent pixels a row is a row of bytes, whatever its channels, and neighbouring taps are `channels` bytes apart.
// Where the horizontal stride is above 1, 64 output bytes come from pieces of the input row, one for each pixel they touch.
struct FlatPiece {
  s64 offset;  // from the first byte; byte i of the piece goes to byte i of the register
  u64 mask;
};

// Constants of the 64 channels that a column of bytes begins with, in the order that interleaving leaves:
// [register][lane][4 channels][4 taps], a row of taps filled up with zeros.
struct FlatConstants {
  s8 weights[3][4][64];  // [row of taps]
  s8 rest[3][4][64];     // what wide weights have beyond s8, to be multiplied as well
  s32 bias[4][16];
  f32 multiplier[4][16];
  FlatPiece pieces[kFlatMaxPieces];
  s64 piece_count;
  // The pieces as quads of 128 adjacent bytes, where they consist of such.
  bool paired;
  u32 quads[16];
};

struct FlatColumn {
  const u8* src;  // first tap of the first output row
  s64 src_row;    // bytes between input rows
  s64 tap;        // bytes between horizontal taps
  s64 ahead;      // bytes to the next column's first tap
  u8* dst;
  s64 dst_row;
  const u8* residual;  // or null
  s64 residual_row;
  s64 rows;      // of output
  s64 stride_y;  // 1 or 2
  u64 mask;      // bytes of the register that exist
  bool pairs;    // the pieces are `paired`, and 128 bytes from each tap may be read
  bool bounded;  // see TileJob
  bool wide;     // the constants have a rest
  const FlatConstants* constants;
  const EpilogueArgs* epilogue;
};

OCTET_X86_64(void, depthwise_u8s8_3x3_avx2, const FlatColumn& column);
OCTET_X86_64(void, depthwise_u8s8_3x3_avxvnni, const FlatColumn& column);
OCTET_X86_64(void, depthwise_u8s8_3x3_vnni, const FlatColumn& column);

}  // namespace octet
