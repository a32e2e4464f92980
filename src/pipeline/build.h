// SPDX-License-Identifier: Apache-2.0
// The stages of compile() after the import, for callers that have ranges of their own.
#pragma once

#include <functional>

#include "graph/graph.h"
#include "octet/compile.h"
#include "precision/precision.h"
#include "runtime/model.h"

namespace octet {

// True when the model brings its own scales.
bool has_explicit_qdq(const Graph& graph);

// Ranges of the activations of a float graph. Called at most once, for INT8 builds of models without Q/DQ.
using RangeSource = std::function<Ranges(const Graph&, Model&)>;

Model build_model(Graph graph, const CompileOptions& options, const RangeSource& ranges_of,
                  CompileReport& report);

}  // namespace octet
