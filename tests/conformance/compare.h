// SPDX-License-Identifier: Apache-2.0
// The ONNX runner's comparison: rtol 1e-3, atol 1e-7 for floats, equality for the rest.
#pragma once

#include <string>

#include "octet/tensor.h"

namespace octet {

// What differs first, or empty when `got` passes.
std::string difference(const Tensor& got, const Tensor& expected);

}  // namespace octet
