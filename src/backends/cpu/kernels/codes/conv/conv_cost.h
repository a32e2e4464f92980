// SPDX-License-Identifier: Apache-2.0
// Estimated cycles of one core for a convolution, to choose between kernels that accept it: multiplications at the rate of their
// unit with the padding of tiles counted, outputs through the epilogue, weights from beyond L2. `octet bench --assert-selection` holds the choices
// against measurement.
#pragma once

#include "backends/cpu/kernels/codes/conv/conv.h"

namespace octet {

f64 tile_conv_cost(const ConvGeometry& geometry);
f64 dense_conv_cost(const ConvKernel& kernel, const ConvGeometry& geometry);

}  // namespace octet
