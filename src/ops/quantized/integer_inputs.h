// SPDX-License-Identifier: Apache-2.0
// Operands of ONNX's own integer operators: codes with a zero point that is an input of the node.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace octet {

// q - zero_point of operand `input`; `zero_point` is the input with its zero points, which may be omitted. With several,
// they belong to the indices of an axis whose neighbours lie `inner` elements apart.
std::vector<s16> centered_operand(const Eval& eval, size_t input, size_t zero_point, s64 inner);

// Throws Error unless the operand is u8 or s8 and its zero point has the same dtype and 1 or `count` elements.
void check_operand(const Inference& inference, size_t input, size_t zero_point, s64 count);

}  // namespace octet
