// SPDX-License-Identifier: Apache-2.0
// Products of two values of 16 bits that a run brings: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/device/number.h"

namespace octet::cuda::product_halves {

// y[m, n] = sum over k of a[m, k] * b[k, n]. Of an operand neighbours of k lie together, or those of m (of n).
#define PRODUCT_HALVES_OPERAND_FIELDS(FIELD)                      \
  FIELD(bool, along_k)                                            \
  FIELD(s64, stride) /* from one to the next of its other axis */ \
  FIELD(s32, access) /* bytes that are loaded at once: 16, 8, 4, 2 */
OCTET_SPEC(Operand, PRODUCT_HALVES_OPERAND_FIELDS)

#define PRODUCT_HALVES_AXIS_FIELDS(FIELD) \
  FIELD(s64, size)                        \
  FIELD(s64, a)                           \
  FIELD(s64, b)                           \
  FIELD(s64, y)
OCTET_SPEC(BatchAxis, PRODUCT_HALVES_AXIS_FIELDS)
using BatchAxes = List<BatchAxis, 8>;  // the last one first

#define PRODUCT_HALVES_TILE_FIELDS(FIELD)         \
  FIELD(s32, warps_m)                             \
  FIELD(s32, warps_n)                             \
  FIELD(s32, tiles_m) /* of 16 rows, of a warp */ \
  FIELD(s32, tiles_n) /* of 8 columns */          \
  FIELD(s32, stages)
OCTET_SPEC(Tile, PRODUCT_HALVES_TILE_FIELDS)

#define PRODUCT_HALVES_FIELDS(FIELD)                                               \
  FIELD(s32, m)                                                                    \
  FIELD(s32, n)                                                                    \
  FIELD(s32, k)                                                                    \
  FIELD(bool, f16) /* else bf16 */                                                 \
  FIELD(Operand, a)                                                                \
  FIELD(Operand, b)                                                                \
  FIELD(BatchAxes, batches)                                                        \
  FIELD(Number, y)       /* rows lie one behind another */                         \
  FIELD(Number, rounded) /* results are rounded to this type; f32: they are not */ \
  FIELD(bool, y_pairs)   /* two columns are stored at once */                      \
  FIELD(Tile, tile)
OCTET_SPEC(Spec, PRODUCT_HALVES_FIELDS)

constexpr s32 kBk = 32;  // of k, in a stage

constexpr s32 threads(const Spec& s) { return 32 * s.tile.warps_m * s.tile.warps_n; }
constexpr s32 bm(const Spec& s) { return 16 * s.tile.tiles_m * s.tile.warps_m; }
constexpr s32 bn(const Spec& s) { return 8 * s.tile.tiles_n * s.tile.warps_n; }
constexpr s32 m_tiles(const Spec& s) { return ceil_div_s32(s.m, bm(s)); }
constexpr s32 n_tiles(const Spec& s) { return ceil_div_s32(s.n, bn(s)); }
constexpr s32 k_tiles(const Spec& s) { return ceil_div_s32(s.k, kBk); }
// In shared memory an operand lies as it does in memory. Bytes of a row: an odd number of 16, so that eight rows lie in all banks.
constexpr s32 pitch(const Operand& o, s32 extent) { return 2 * (o.along_k ? kBk : extent) + 16; }
constexpr s32 tile_bytes(const Operand& o, s32 extent) {
  return (o.along_k ? extent : kBk) * pitch(o, extent);
}
constexpr s32 a_bytes(const Spec& s) { return tile_bytes(s.a, bm(s)); }
constexpr s32 stage_bytes(const Spec& s) { return a_bytes(s) + tile_bytes(s.b, bn(s)); }
constexpr s32 shared_bytes(const Spec& s) { return s.tile.stages * stage_bytes(s); }
constexpr s64 blocks(const Spec& s) {
  s64 product = s64{m_tiles(s)} * n_tiles(s);
  for (s32 d = 0; d < s.batches.count; ++d) product *= s.batches.at[d].size;
  return product;
}

#define PRODUCT_HALVES_RULES(RULE)                                            \
  RULE(s.tile.tiles_n % 2 == 0, "columns are loaded in pairs of tiles")       \
  RULE(s.tile.stages >= 2, "a load overlaps with products of the one before") \
  RULE(s.y != Number::u8 && s.y != Number::s8, "results are reals")
OCTET_RULES(Spec, PRODUCT_HALVES_RULES)

struct Params {
  const u16* a;
  const u16* b;
  void* y;
};

}  // namespace octet::cuda::product_halves
