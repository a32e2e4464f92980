// SPDX-License-Identifier: Apache-2.0
// The bodies of control flow on their way through the pipeline (docs/adr/0020).
#pragma once

#include <functional>
#include <vector>

#include "passes/pass.h"
#include "pipeline/float_model.h"

namespace octet {

// Gives each body in which something multiplies its constants and the types of its inputs, and runs the float passes over it. Bodies of
// whose inputs a type is not known, or which fit no sample of sizes, stay as they are, with a note.
std::vector<FloatBody> optimize_bodies(Graph& graph, const PassOptions& options,
                                       const FloatModel& outer, std::vector<std::string>& notes);

// The bodies, those inside of bodies first, each as `change` makes it.
std::vector<FloatBody> changed_bodies(const FloatModel& model,
                                      const std::function<void(FloatModel&)>& change);

// The model and all bodies in it.
std::vector<const FloatModel*> with_bodies(const FloatModel& model);

// Puts another graph in the place of a body.
void replace_body(Graph& graph, const Graph* body, GraphPtr by);

}  // namespace octet
