// SPDX-License-Identifier: Apache-2.0
// Windows over one to three spatial axes: device/window.cuh.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

#define AXIS_WINDOW_FIELDS(FIELD) \
  FIELD(s32, in)                  \
  FIELD(s32, out)                 \
  FIELD(s32, kernel)              \
  FIELD(s32, stride)              \
  FIELD(s32, dilation)            \
  FIELD(s32, pad) /* before the first element */
OCTET_SPEC(AxisWindow, AXIS_WINDOW_FIELDS)

#define SPATIAL_WINDOW_FIELDS(FIELD)                    \
  FIELD(bool, transposed) /* as ConvTranspose has it */ \
  FIELD(AxisWindow, d)                                  \
  FIELD(AxisWindow, h)                                  \
  FIELD(AxisWindow, w)
OCTET_SPEC(SpatialWindow, SPATIAL_WINDOW_FIELDS)

// From one index to the next, in elements; of axes that are not there 0.
#define PLACE_STRIDES_FIELDS(FIELD) \
  FIELD(s64, n)                     \
  FIELD(s64, c)                     \
  FIELD(s64, d)                     \
  FIELD(s64, h)                     \
  FIELD(s64, w)
OCTET_SPEC(PlaceStrides, PLACE_STRIDES_FIELDS)

constexpr s32 taps(const SpatialWindow& window) {
  return window.d.kernel * window.h.kernel * window.w.kernel;
}

}  // namespace octet::cuda
