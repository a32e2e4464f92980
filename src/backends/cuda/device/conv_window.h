// SPDX-License-Identifier: Apache-2.0
// What kernels of convolutions of codes know of x, of the window and of y.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

// From one image, row and pixel to the next one, in elements.
#define PIXEL_STRIDES_FIELDS(FIELD) \
  FIELD(s64, image)                 \
  FIELD(s64, row)                   \
  FIELD(s64, pixel)
OCTET_SPEC(PixelStrides, PIXEL_STRIDES_FIELDS)

#define CONV_WINDOW_FIELDS(FIELD)                       \
  FIELD(bool, x_signed)  /* codes of x are s8 */        \
  FIELD(s32, zero_point) /* of x: what padding holds */ \
  FIELD(s32, in_h)                                      \
  FIELD(s32, in_w)                                      \
  FIELD(s32, cin) /* channels of a group */             \
  FIELD(s32, cout)                                      \
  FIELD(s32, groups)                                    \
  FIELD(s32, taps_h)                                    \
  FIELD(s32, taps_w)                                    \
  FIELD(s32, stride_h)                                  \
  FIELD(s32, stride_w)                                  \
  FIELD(s32, dilation_h)                                \
  FIELD(s32, dilation_w)                                \
  FIELD(s32, pad_top)                                   \
  FIELD(s32, pad_left)                                  \
  FIELD(s32, out_h)                                     \
  FIELD(s32, out_w)                                     \
  FIELD(s32, pixels) /* of y, of all images */
OCTET_SPEC(ConvWindow, CONV_WINDOW_FIELDS)

// Where x, y and what is added lie.
#define CONV_OPERANDS_FIELDS(FIELD) \
  FIELD(PixelStrides, x)            \
  FIELD(PixelStrides, y)            \
  FIELD(PixelStrides, residual)     \
  FIELD(PixelStrides, addend)
OCTET_SPEC(ConvOperands, CONV_OPERANDS_FIELDS)

}  // namespace octet::cuda
