// SPDX-License-Identifier: Apache-2.0
// Windows and strides as fields of a kernel's spec.
#pragma once

#include "backends/cuda/device/window.h"
#include "backends/cuda/lower/step.h"
#include "ops/shared/window.h"

namespace octet::cuda {

SpatialWindow spatial_window(const Window& window, bool transposed);
// Of an operand of one to three spatial axes.
PlaceStrides place_strides(const Shape& shape, const Placement& placement);

}  // namespace octet::cuda
