// SPDX-License-Identifier: Apache-2.0
// What passes and precision say alike of functions of single reals and of the products before them.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "ops/shared/activation.h"

namespace octet {

// A function of single reals, which QFunction computes as a step of its own.
bool is_function_of_reals(const Graph& graph, const Node& node);

// What a function reads of a product that it ends: a bound before it is part of the function, a slope stays with the product.
Activation bound_of(const Node& product);

// What a reason says of a product of codes whose result is real.
inline constexpr std::string_view kStaysReal =
    "; the result stays f32 because its reader is not INT8";

}  // namespace octet
