// SPDX-License-Identifier: Apache-2.0
// What the builders of QAdd, QMul and QReduceMean share: from a QuantizeRequest to the attributes of an integer node.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace octet {

// Why the first `inputs` inputs of the request cannot be read as activation codes; empty when they can.
std::string reject_inputs(const QuantizeRequest& request, size_t inputs);

// The integer node `op` over the codes of the first `inputs` inputs, with input_zero_points, output_dtype,
// output_zero_point, lo and hi (a fused relu or clip is in lo and hi); or a reason.
QuantizeResult code_node(const QuantizeRequest& request, std::string_view op, size_t inputs);

// True when every multiplier is a finite number.
bool all_finite(std::span<const f32> multipliers);

}  // namespace octet
