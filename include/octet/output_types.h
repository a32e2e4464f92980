// SPDX-License-Identifier: Apache-2.0
// What an engine's outputs are where the numbers of some inputs are known ahead of a run.
#pragma once

#include <span>
#include <vector>

#include "octet/engine.h"

namespace octet {

// In the order of Engine::outputs(), for inputs of these sizes. `known` has, in the order of Engine::inputs(), the inputs whose numbers are known and
// tell sizes, and empty tensors for others. A size that other data tell is Shape::kDynamic, and the shape unknown where not even the rank
// is known. Throws Error(invalid_argument) for what the engine does not take.
std::vector<TensorType> output_types(const Engine& engine, std::span<const Shape> input_shapes,
                                     std::span<const Tensor> known);

}  // namespace octet
