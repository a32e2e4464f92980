// SPDX-License-Identifier: Apache-2.0
// What the tile kernels of a product of two u8 activations get. Included by instruction-set files.
// sum (a - za)(b - zb) = sum ab - zb * sum a - za * sum b + k * za * zb: the sums over b are part of the columns' bias, those
// over a are added to each row. All are exact modulo 2^32, and the whole fits.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

inline constexpr s64 kProductRows = 16;     // most rows of a tile
inline constexpr s64 kProductColumns = 16;  // columns of a tile
inline constexpr s64 kProductStep = 64;     // of the inner dimension, for one multiplication
inline constexpr s64 kProductTile = 1024;   // bytes of a packed tile: [16][16 columns][4]
inline constexpr s64 kProductBlock = 4;     // tiles of columns that are multiplied at once
// Two blocks of sums: one is multiplied into while the other becomes codes.
inline constexpr s64 kProductSumBytes = 2 * kProductBlock * 1024;

// Packs b as [blocks of up to 64 columns][steps][tiles][kProductTile]. In a whole block column 4 * l + i of tile t is column
// 16 * l + 4 * t + i of the matrix, so that narrowing registers in 128-bit lanes puts the columns in order. Plain packing is
// that of the vpdpbusd convolution for k in whole fours: [blocks][k / 4][columns][4] of b - 128, columns in their order.
struct ProductPackJob {
  const u8* b;
  s64 k_stride, n_stride;  // one of them is 1
  s64 k, n;
  u8* packed;
  s32* columns;     // in packed order, padded to tiles: bias - za * sum b + k * za * zb
  const s32* bias;  // in packed order
  s32 zero_a, zero_b;
  bool plain;
};

// Rows [first_row, last_row) of one product.
struct ProductJob {
  const u8* a;  // row 0; k is dense
  s64 a_row;    // bytes between rows
  u8* y;        // likewise; f32 when the epilogue is real
  s64 y_row;
  s64 m, k, n;
  s64 rows;  // of a tile, at most m; the last tile may overlap the one before it, whose rows it leaves alone
  s64 first_tile, last_tile;
  const u8* packed;
  const s32* columns;
  const f32* multiplier;  // in packed order
  s32 zero_b;
  bool bounded;  // no product of sum and multiplier passes 2^31
  u8* rows_copy;  // room for a tile's rows in whole steps; used where k is not a multiple of kProductStep
  s32* sums;  // kProductSumBytes
  const EpilogueArgs* epilogue;
};

OCTET_X86_64(void, pack_product_vnni, const ProductPackJob& job);
OCTET_X86_64(s32, row_sum_vnni, const u8* row, s64 k);
OCTET_X86_64(void, matmul_u8u8_tiles_amx, const ProductJob& job);

}  // namespace octet
