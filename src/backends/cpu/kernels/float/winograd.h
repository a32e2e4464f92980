// SPDX-License-Identifier: Apache-2.0
// f32 convolutions of 3x3 by Winograd's F(2x2, 3x3): a tile of 4x4 pixels becomes 16 numbers of each channel, of which each is multiplied as a
// 1x1 convolution is (panel.h), and the products become 2x2 pixels. Additions only, in one order, so bits are equal on every instruction set.
// Plain data only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/float/sum_end.h"

namespace octet {

inline constexpr long kWinogradPoints = 16;

// `tiles` tiles beside each other, each two pixels behind the one before.
struct WinogradTakeArgs {
  const float* src;  // the first tile's first pixel
  long pixel;        // between pixels
  long row;          // between rows
  float* dst;        // the first point of the first tile
  long tile;         // between tiles
  long point;        // between points
  long tiles;
  long channels;
};

struct WinogradGiveArgs {
  const float* src;  // points, as WinogradTakeArgs has them
  long tile;
  long point;
  const float* bias;      // of whole vectors
  const float* residual;  // added, as dst; null: none
  long residual_pixel;
  long residual_row;
  float* dst;
  long pixel;
  long row;
  long rows;     // 1 or 2
  long columns;  // the last tile has one if they are odd
  long channels;
  SumEndArgs end;
  // `count` channels of a tile from `channel` on of which a sum is no finite number, which the kernel leaves as they are.
  void (*mend)(const WinogradGiveArgs* args, long tile, long channel, long count);
  const void* owner;
};

OCTET_X86_64(void, winograd_take_avx2, const WinogradTakeArgs* args);
OCTET_X86_64(void, winograd_take_vnni, const WinogradTakeArgs* args);
OCTET_X86_64(void, winograd_give_avx2, const WinogradGiveArgs* args);
OCTET_X86_64(void, winograd_give_vnni, const WinogradGiveArgs* args);
OCTET_AARCH64(void, winograd_take_neon, const WinogradTakeArgs* args);
OCTET_AARCH64(void, winograd_give_neon, const WinogradGiveArgs* args);

}  // namespace octet
