// SPDX-License-Identifier: Apache-2.0
// Runs a graph node by node through the operators' scalar references: the meaning of a graph, for tests and comparisons.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "octet/tensor.h"

namespace octet {

// Called for each value as it comes to exist (inputs and node outputs, not constants).
using ValueObserver = std::function<void(ValueId, const Tensor&)>;

// Inputs in the order of graph.inputs; returns the outputs in the order of graph.outputs. Values are freed after their
// last reader. Throws Error(invalid_argument) for inputs that do not fit, and Error(out_of_memory) before a node whose
// outputs would pass `max_bytes`.
std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> inputs,
                              const ValueObserver& observe = nullptr,
                              s64 max_bytes = kDefaultMaxBytes);

}  // namespace octet
