// SPDX-License-Identifier: Apache-2.0
// Weighted sums of neighbouring pixels: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/code_end.h"
#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/element_type.h"

namespace octet::cuda::interpolate {

// Images are [images][height][width][inner].
#define INTERPOLATE_FIELDS(FIELD)                                                      \
  FIELD(ElementType, in)                                                               \
  FIELD(ElementType, out)                                                              \
  FIELD(bool, codes)     /* x and y hold codes: end(sum * multiplier) */               \
  FIELD(s32, zero_point) /* of x */                                                    \
  FIELD(F32Bits, multiplier)                                                           \
  FIELD(CodeEndSpec, end)                                                              \
  FIELD(s64, images)                                                                   \
  FIELD(s32, out_h)                                                                    \
  FIELD(s32, out_w)                                                                    \
  FIELD(s32, inner)                                                                    \
  FIELD(s32, vector) /* elements of `inner` that a thread makes; it divides `inner` */ \
  FIELD(s32, rows)   /* of y, one below another, that it makes of each */              \
  FIELD(PixelStrides, x)                                                               \
  FIELD(PixelStrides, y)                                                               \
  FIELD(s32, row_taps) /* 0: the axis stays as it is */                                \
  FIELD(s32, column_taps)
OCTET_SPEC(Spec, INTERPOLATE_FIELDS)

// Pixels of x that make one of y are few: a thread keeps them from one row of y to the next.
constexpr bool keeps_taps(const Spec& s) {
  constexpr s32 kMost = 2;
  return s.row_taps >= 1 && s.row_taps <= kMost && s.column_taps >= 1 && s.column_taps <= kMost;
}

#define INTERPOLATE_RULES(RULE)                                         \
  RULE(s.inner % s.vector == 0, "a thread's elements are of one pixel") \
  RULE(s.rows == 1 || keeps_taps(s), "registers do not hold what rows have in common")
OCTET_RULES(Spec, INTERPOLATE_RULES)

constexpr s32 kThreads = 256;

constexpr s32 vectors(const Spec& s) { return s.inner / s.vector; }  // of a pixel
constexpr s32 pixels(const Spec& s) { return ceil_div_s32(s.out_h, s.rows) * s.out_w; }
constexpr s64 count(const Spec& s) { return s.images * pixels(s) * vectors(s); }
// Loops over taps that are written out.
constexpr s32 unrolled(const Spec& s) {
  constexpr s32 kMost = 4;  // taps of one axis
  return s.row_taps <= kMost && s.column_taps <= kMost ? kMost : 1;
}

struct Params {
  const void* x;
  const s32* rows;  // for each row of y those of x, and their weights; so columns
  const f32* row_weights;
  const s32* columns;
  const f32* column_weights;
  void* y;
};

}  // namespace octet::cuda::interpolate
