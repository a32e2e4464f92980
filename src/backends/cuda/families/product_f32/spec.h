// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and MatMul of reals: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/device/window.h"

namespace octet::cuda::product_f32 {

// MatMul's: from one matrix to the next.
#define BATCH_AXIS_FIELDS(FIELD) \
  FIELD(s64, size)               \
  FIELD(s64, x)                  \
  FIELD(s64, weights)            \
  FIELD(s64, y) /* of the residual, too */
OCTET_SPEC(BatchAxis, BATCH_AXIS_FIELDS)
using BatchAxes = List<BatchAxis, 8>;  // the last one first

#define PRODUCT_F32_FIELDS(FIELD)                                                              \
  FIELD(SpatialWindow, window)                                                                 \
  FIELD(PlaceStrides, x)                                                                       \
  FIELD(PlaceStrides, y)                                                                       \
  FIELD(PlaceStrides, residual_at)                                                             \
  FIELD(BatchAxes, batches)                                                                    \
  FIELD(s32, pixels) /* of y, of all images */                                                 \
  FIELD(s32, cin)    /* channels of a group */                                                 \
  FIELD(s32, cout)                                                                             \
  FIELD(s32, groups)                                                                           \
  FIELD(bool, direct)   /* a thread for each output, for groups of few channels; else tiles */ \
  FIELD(bool, along_k)  /* neighbours of k lie together in x */                                \
  FIELD(s32, rows_each) /* of a thread */                                                      \
  FIELD(bool, bias)                                                                            \
  FIELD(bool, residual)                                                                        \
  FIELD(bool, leaky) /* negative reals times alpha */                                          \
  FIELD(F32Bits, alpha)                                                                        \
  FIELD(bool, clamp)                                                                           \
  FIELD(F32Bits, clamp_lo)                                                                     \
  FIELD(F32Bits, clamp_hi)
OCTET_SPEC(Spec, PRODUCT_F32_FIELDS)

#define PRODUCT_F32_RULES(RULE)                                                         \
  RULE(s.rows_each == 4 || s.rows_each == 8, "rows of shared memory are read by fours") \
  RULE(!s.direct || s.batches.count == 0, "MatMul is done by tiles")
OCTET_RULES(Spec, PRODUCT_F32_RULES)

constexpr s32 kThreads = 256;
constexpr s32 kBn = 64;                                       // channels of a tile
constexpr s32 kBk = 16;                                       // of k, in shared memory
constexpr s32 bm(const Spec& s) { return 16 * s.rows_each; }  // pixels
constexpr s32 depth(const Spec& s) { return taps(s.window) * s.cin; }
constexpr s32 n_tiles(const Spec& s) { return ceil_div_s32(s.cout, kBn); }
constexpr s32 m_tiles(const Spec& s) { return ceil_div_s32(s.pixels, bm(s)); }
// Of tiles.
constexpr s64 blocks(const Spec& s) {
  s64 product = s64{m_tiles(s)} * n_tiles(s) * s.groups;
  for (s32 d = 0; d < s.batches.count; ++d) product *= s.batches.at[d].size;
  return product;
}

// Null where there is none.
struct Params {
  const f32* x;
  const f32*
      weights;  // [group][k][cout], k over taps, then channels; direct: [k][group][cout], k over channels, then taps
  const f32* bias;
  const f32* residual;
  f32* y;
};

}  // namespace octet::cuda::product_f32
