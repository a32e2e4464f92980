// SPDX-License-Identifier: Apache-2.0
// A tensor's type as a field of a kernel's spec, and as kernels name it.
#pragma once

#include <string>

#include "backends/cuda/device/element_type.h"
#include "octet/tensor.h"

namespace octet::cuda {

// Small types and booleans are bytes, halves words of 16 bits.
ElementType element_type(Dtype dtype);
// The same, where a kernel computes with halves: f16 and bf16.
ElementType number_type(Dtype dtype);
// As kernels name it: "u8".
std::string type_name(ElementType type);
std::string kernel_type(Dtype dtype);
// By size alone, where elements only move: 1, 2, 4 or 8 bytes.
ElementType element_of_bytes(s64 bytes);

}  // namespace octet::cuda
