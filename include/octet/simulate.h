// SPDX-License-Identifier: Apache-2.0
// What simulators of quantization compute: the graph with QuantizeLinear and DequantizeLinear, in f32, beside the engine that was made of it.
#pragma once

#include "octet/engine.h"

namespace octet {

// An engine of the same inputs and outputs that runs the graph which the INT8 layers of `engine` were made of: operators on reals between
// QuantizeLinear and DequantizeLinear, each rounding in its place. It differs from the engine where sums of reals round otherwise than
// sums of integers do: by a code here and there. Throws Error(unsupported) for an engine without INT8, or built before engines kept it.
Engine simulation(const Engine& engine);

}  // namespace octet
