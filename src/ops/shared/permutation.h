// SPDX-License-Identifier: Apache-2.0
// Transpose's attribute.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace octet {

// The axis of the input for each of the output: `perm`, or all axes in reverse. Throws Error(invalid_model) where it is no permutation of
// `rank` axes.
std::vector<int> permutation_of(const Node& node, int rank);

}  // namespace octet
