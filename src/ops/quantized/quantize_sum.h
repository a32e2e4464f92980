// SPDX-License-Identifier: Apache-2.0
// The integer form of Add and Sub.
#pragma once

#include "graph/op_def.h"

namespace octet {

// QAdd with multipliers fl(scale_a / scale_y) and sign * fl(scale_b / scale_y).
QuantizeResult quantize_sum(const QuantizeRequest& request, f32 sign);

}  // namespace octet
