// SPDX-License-Identifier: Apache-2.0
// What kernels of pools know of the window.
#pragma once

#include "backends/cuda/device/conv_window.h"

namespace octet::cuda {

#define POOL_WINDOW_FIELDS(FIELD) \
  FIELD(s32, in_h)                \
  FIELD(s32, in_w)                \
  FIELD(s32, out_h)               \
  FIELD(s32, out_w)               \
  FIELD(s32, taps_h)              \
  FIELD(s32, taps_w)              \
  FIELD(s32, stride_h)            \
  FIELD(s32, stride_w)            \
  FIELD(s32, dilation_h)          \
  FIELD(s32, dilation_w)          \
  FIELD(s32, pad_top)             \
  FIELD(s32, pad_left)
OCTET_SPEC(PoolWindow, POOL_WINDOW_FIELDS)

}  // namespace octet::cuda
