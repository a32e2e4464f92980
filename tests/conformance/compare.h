// SPDX-License-Identifier: Apache-2.0
// The ONNX runner's comparison: rtol 1e-3 and by default atol 1e-7 for floats, equality for the rest.
#pragma once

#include <string>

#include "octet/tensor.h"

namespace octet {

inline constexpr double kAbsoluteTolerance = 1e-7;

// What differs first, or empty when `got` passes.
std::string difference(const Tensor& got, const Tensor& expected,
                       double absolute = kAbsoluteTolerance);

}  // namespace octet
