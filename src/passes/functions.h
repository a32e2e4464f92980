// SPDX-License-Identifier: Apache-2.0
// What passes and precision say alike of functions of single reals and of the products before them.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace octet {

// A function of single reals, which QFunction computes as a step of its own.
bool is_function_of_reals(const Graph& graph, const Node& node);

// What a reason says of a product of codes whose result is real.
inline constexpr std::string_view kStaysReal =
    "; the result stays f32 because its reader is not INT8";

}  // namespace octet
