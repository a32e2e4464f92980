// SPDX-License-Identifier: Apache-2.0
// What Div and Mod of integers ask of their divisor.
#pragma once

#include "ops/shared/node_parser.h"

namespace octet {

// Throws Error(invalid_model) where input 1 is a constant integer tensor that holds 0.
void check_constant_divisor(const NodeParser& parser);

}  // namespace octet
