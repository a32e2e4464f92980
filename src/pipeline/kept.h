// SPDX-License-Identifier: Apache-2.0
// The graph with Q/DQ that a model keeps (runtime/kept_graph.h), fit to be read.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "runtime/model.h"

namespace octet {

// Verified, its types inferred. Throws Error(unsupported) where the model keeps none, Error(invalid_model) naming the node that does not fit.
Graph kept_graph(const Model& model);

// The same as a model that runs in f32.
std::shared_ptr<Model> simulated(const Model& model);

}  // namespace octet
