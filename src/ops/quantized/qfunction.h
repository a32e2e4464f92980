// SPDX-License-Identifier: Apache-2.0
// What QFunction says in its attributes. Both throw Error(invalid_model) for what no pass writes.
#pragma once

#include "graph/op_def.h"

namespace octet {

// The same node as its operator of reals.
Node function_of(const Node& node);
// Of the codes.
f32 function_scale(const Node& node);

}  // namespace octet
