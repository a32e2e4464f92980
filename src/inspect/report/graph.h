// SPDX-License-Identifier: Apache-2.0
// An engine's layers as a drawing: boxes in the color of their precision, from the inputs downwards.
#pragma once

#include <string>

#include "octet/inspect.h"

namespace octet {

// One <svg>; empty where there are no layers, or more than a page can show. Each box is a <g data-i> with the layer's place in the list.
std::string graph_drawing(const Inspection& inspection);

}  // namespace octet
