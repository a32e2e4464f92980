// SPDX-License-Identifier: Apache-2.0
// The layers inside of bodies of control flow, as this machine would run them for the sizes around.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "octet/inspect.h"
#include "plan/plan.h"

namespace octet {

// Adds the layers of all bodies of a node of `graph` after that of the node, which `layers` ends with.
void add_body_layers(const Graph& graph, const Node& node, const Target& target,
                     std::vector<LayerInfo>& layers);

// Bytes of the constants of a graph and of the bodies in it.
int64_t constant_bytes_of(const Graph& graph);

}  // namespace octet
