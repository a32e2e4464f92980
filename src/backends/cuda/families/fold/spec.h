// SPDX-License-Identifier: Apache-2.0
// Blocks of pixels of few channels become pixels of many: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/number.h"

namespace octet::cuda::fold {

#define FOLD_FIELDS(FIELD)                                                                    \
  FIELD(s32, images)                                                                          \
  FIELD(s32, in_h)                                                                            \
  FIELD(s32, in_w)                                                                            \
  FIELD(s32, channels)                                                                        \
  FIELD(PixelStrides, x)                                                                      \
  FIELD(s64, x_channel)  /* from one channel to the next, in elements */                      \
  FIELD(s32, zero_point) /* of x: what padding holds */                                       \
  FIELD(Number, number)  /* of cells: codes as x has them, else f16 or bf16 of an x of f32 */ \
  FIELD(s32, step)       /* a cell is made of step * step pixels */                           \
  FIELD(s32, pad_top)                                                                         \
  FIELD(s32, pad_left)                                                                        \
  FIELD(s32, cell)   /* bytes of one; what lies behind its channels is 0 */                   \
  FIELD(s32, height) /* cells of an image, which lie together: rows, then images */           \
  FIELD(s32, width)
OCTET_SPEC(Spec, FOLD_FIELDS)

constexpr s32 kThreads = 256;
constexpr s64 kMostCells = (s64{1} << 31) - kThreads;  // which threads count in 32 bits
constexpr s64 cells(const Spec& s) { return s64{s.images} * s.height * s.width; }

#define FOLD_RULES(RULE)                                            \
  RULE(s.cell % 16 == 0, "cells are stored by 16 bytes")            \
  RULE(s.step* s.step* s.channels* bytes_of(s.number) <= s.cell,    \
       "a cell holds all channels of its pixels")                   \
  RULE(s.number != Number::f32, "cells are of codes or of 16 bits") \
  RULE(cells(s) <= kMostCells, "cells are counted in 32 bits")
OCTET_RULES(Spec, FOLD_RULES)

struct Params {
  const u8* x;
  u8* y;
};

}  // namespace octet::cuda::fold
