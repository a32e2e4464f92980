// SPDX-License-Identifier: Apache-2.0
// Of a model whose weights alone are codes.
#pragma once

#include "graph/graph.h"

namespace octet {

// Whether any node, also of a body, makes codes of data or reads codes that are data: the model then brings scales of its activations. Codes
// of constants are weights.
bool has_coded_activations(const Graph& graph);

}  // namespace octet
