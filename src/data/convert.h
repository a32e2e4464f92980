// SPDX-License-Identifier: Apache-2.0
// An array as found in a file -> the element type that a model's input wants.
#pragma once

#include <string>

#include "octet/tensor.h"

namespace octet {

// Any number becomes a float; floats never become integers; integers must fit. Throws Error(invalid_argument) otherwise, and for NaN or
// Inf, in a sentence that begins with `what`: "'cats/a.npy'", "sample 3, input 'x'".
Tensor convert_array(const Tensor& array, Dtype dtype, const std::string& what);

// As above for pixels computed in f32: integers take the nearest value.
Tensor convert_pixels(const Tensor& pixels, Dtype dtype, const std::string& what);

// Throws when an f32 array holds NaN or Inf.
void check_finite(const Tensor& array, const std::string& what);

}  // namespace octet
