// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of codes that are both known only when they are multiplied: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/device/epilogue.h"

namespace octet::cuda::matmul_mma {

// From one matrix to the next.
#define BATCH_AXIS_FIELDS(FIELD) \
  FIELD(s64, size)               \
  FIELD(s64, a)                  \
  FIELD(s64, b)                  \
  FIELD(s64, y)
OCTET_SPEC(BatchAxis, BATCH_AXIS_FIELDS)
using BatchAxes = List<BatchAxis, 8>;  // the last one first

#define MATMUL_MMA_FIELDS(FIELD)                                              \
  FIELD(s32, m) /* of one product: y is m by n, k terms each */               \
  FIELD(s32, n)                                                               \
  FIELD(s32, k)                                                               \
  FIELD(BatchAxes, batches)                                                   \
  FIELD(bool, a_signed) /* codes are s8 */                                    \
  FIELD(bool, b_signed)                                                       \
  FIELD(s32, a_zero_point)                                                    \
  FIELD(s32, b_zero_point)                                                    \
  FIELD(s64, a_row) /* strides */                                             \
  FIELD(s64, a_k)                                                             \
  FIELD(s64, b_n)                                                             \
  FIELD(s64, b_k)                                                             \
  FIELD(s64, y_row)                                                           \
  FIELD(s64, y_n)                                                             \
  FIELD(s32, a_access) /* bytes of one load, along whichever axis is dense */ \
  FIELD(s32, b_access)                                                        \
  FIELD(s32, y_access)    /* codes that are stored at once */                 \
  FIELD(bool, uniform)    /* columns have one multiplier and no bias */       \
  FIELD(bool, addend_row) /* the addend is one row */                         \
  FIELD(EpilogueSpec, end)                                                    \
  FIELD(s32, warps_m) /* of a block, along rows and along columns */          \
  FIELD(s32, warps_n)                                                         \
  FIELD(s32, tiles_m) /* of 16 rows by 8 columns, of a warp */                \
  FIELD(s32, tiles_n)                                                         \
  FIELD(s32, bk) /* bytes of k in a stage */                                  \
  FIELD(s32, stages)
OCTET_SPEC(Spec, MATMUL_MMA_FIELDS)

#define MATMUL_MMA_RULES(RULE)                                                                 \
  RULE(s.bk == 64 || s.bk == 128, "a row of shared memory is swizzled within 64 or 128 bytes") \
  RULE(s.stages >= 2, "one stage is loaded while another is multiplied")                       \
  RULE(s.tiles_n % 2 == 0, "ldmatrix brings b of two tiles at once")                           \
  RULE(s.a_access == 1 || s.a_access % 4 == 0, "words or bytes are loaded")                    \
  RULE(s.b_access == 1 || s.b_access % 4 == 0, "words or bytes are loaded")                    \
  RULE(run_of(s) % s.y_access == 0, "a thread's neighbouring columns are stored at once")      \
  RULE(s.y_access == 1 || s.y_n == 1, "columns that are stored at once lie together")          \
  RULE(s.n % s.y_access == 0, "a store would reach into the next row")

constexpr s32 bm(const Spec& s) { return 16 * s.tiles_m * s.warps_m; }  // rows of a block
constexpr s32 bn(const Spec& s) { return 8 * s.tiles_n * s.warps_n; }   // columns
constexpr s32 threads(const Spec& s) { return 32 * s.warps_m * s.warps_n; }
constexpr s32 k_tiles(const Spec& s) { return ceil_div_s32(s.k, s.bk); }
constexpr s32 m_tiles(const Spec& s) { return ceil_div_s32(s.m, bm(s)); }
constexpr s32 n_tiles(const Spec& s) { return ceil_div_s32(s.n, bn(s)); }
constexpr s32 stage_bytes(const Spec& s) { return (bm(s) + bn(s)) * s.bk; }
constexpr s32 shared_bytes(const Spec& s) { return s.stages * stage_bytes(s) + table_bytes(s.end); }
constexpr s64 blocks(const Spec& s) {
  s64 product = s64{m_tiles(s)} * n_tiles(s);
  for (s32 d = 0; d < s.batches.count; ++d) product *= s.batches.at[d].size;
  return product;
}
// b is multiplied as s8: codes of u8 less 128, and so is their zero point.
constexpr s32 own_zero_point_b(const Spec& s) {
  return s.b_signed ? s.b_zero_point : s.b_zero_point - 128;
}

// A thread owns 2 * tiles_n columns of a warp's, 2j + e in row 8j + 2q + e: neighbours, so that it stores many codes at once; of reals four
// neighbours in each 16, so that four threads store 64 bytes.
constexpr s32 run_of(const Spec& s) { return s.end.real ? 4 : 2 * s.tiles_n; }

OCTET_RULES(Spec, MATMUL_MMA_RULES)

struct Params {
  const u8* a;
  const u8* b;
  EpilogueParams end;
};

}  // namespace octet::cuda::matmul_mma
