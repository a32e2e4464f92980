// SPDX-License-Identifier: Apache-2.0
// Convolution of codes by a thread for each output: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/epilogue.h"
#include "backends/cuda/device/window.h"

namespace octet::cuda::conv_direct {

#define CONV_DIRECT_FIELDS(FIELD)                     \
  FIELD(SpatialWindow, window)                        \
  FIELD(PlaceStrides, x)                              \
  FIELD(PlaceStrides, y)                              \
  FIELD(PlaceStrides, residual)                       \
  FIELD(PlaceStrides, addend)                         \
  FIELD(EpilogueSpec, end)                            \
  FIELD(bool, x_signed) /* codes of x are s8 */       \
  FIELD(s32, x_zero_point)                            \
  FIELD(bool, wide_weights) /* s16, else s8 */        \
  FIELD(s32, pixels)        /* of y, of all images */ \
  FIELD(s32, cin)           /* channels of a group */ \
  FIELD(s32, cout)                                    \
  FIELD(s32, channels) /* of y, of all groups */      \
  FIELD(s32, vec)      /* neighbouring channels of a thread, each of which reads one channel of x */
OCTET_SPEC(Spec, CONV_DIRECT_FIELDS)

#define CONV_DIRECT_RULES(RULE)                                                             \
  RULE(s.vec == 1 || (s.vec == 4 && s.cin == 1 && s.cout == 1 && s.x.c == 1 && s.y.c == 1), \
       "only channels that lie together and read one of their own are taken together")      \
  RULE(s.channels % s.vec == 0, "a thread's channels would reach into another pixel")       \
  RULE(!s.window.transposed, "x is read where a window meets it")
OCTET_RULES(Spec, CONV_DIRECT_RULES)

constexpr s32 kThreads = 256;  // of a block

struct Params {
  const u8* x;
  const void* weights;  // [channel of x in the group][tap][channel of y]
  EpilogueParams end;
};

}  // namespace octet::cuda::conv_direct
