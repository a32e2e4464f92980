// SPDX-License-Identifier: Apache-2.0
// The constants of kernels/window.cu.
#pragma once

#include <array>
#include <string>

#include "backends/cuda/lower/step.h"
#include "ops/shared/window.h"

namespace octet::cuda {

// Strides of N, C, D, H and W, those of axes that are not there 0.
using AxisStrides = std::array<s64, 5>;
AxisStrides axis_strides(const Shape& shape, const Placement& placement);
void set_axes(KernelSource& source, const std::string& prefix, const AxisStrides& strides);
void set_spatial_window(KernelSource& source, const Window& window, bool transposed);

}  // namespace octet::cuda
