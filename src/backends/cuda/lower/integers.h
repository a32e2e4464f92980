// SPDX-License-Identifier: Apache-2.0
// Whole numbers of a machine's sizes, as kernels compute with them: modulo 2^n.
#pragma once

#include <string>

#include "octet/tensor.h"

namespace octet::cuda {

bool is_integer(Dtype dtype);
bool is_signed_integer(Dtype dtype);
// The unsigned type in which sums and products of integers of this type wrap: "u32", "u64".
std::string wrapping_type(Dtype dtype);

}  // namespace octet::cuda
