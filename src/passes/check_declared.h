// SPDX-License-Identifier: Apache-2.0
// Holds a model to what it says of its own values.
#pragma once

#include <span>

#include "graph/declared.h"

namespace octet {

// Throws Error(invalid_model) where the graph, or a body of control flow in it, computes another type than the file declares; sizes that
// only data or the caller tell may be any. `sizes`: false where the caller gave shapes of his own, which the declared ones need not fit.
void check_declared(Graph& graph, std::span<const DeclaredType> declared, bool sizes);

}  // namespace octet
