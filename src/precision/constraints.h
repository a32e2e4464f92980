// SPDX-License-Identifier: Apache-2.0
// Constraints on a graph: what is asked of every layer and of the ONNX nodes in it, and what became of that.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "octet/compile.h"
#include "octet/constraints.h"
#include "precision/precision.h"

namespace octet {

// What is asked of one layer; none: nothing.
struct LayerRequest {
  Precision precision = Precision::none;
  Precision output = Precision::none;
  std::string by, output_by;  // the constraints, "conv*:int8"
};

// The operator of each ONNX node, by the node's name.
using NodeOperators = std::unordered_map<std::string, std::string_view>;

struct Requests {
  std::vector<LayerRequest> layers;  // one for each node of the graph; empty: nothing is asked
  std::vector<NodeRequest> nodes;    // those of which something is asked
};

// Of the float graph. Throws one Error(invalid_argument) that lists every pattern that matches nothing, all that contradict each other,
// and types that the build does not make.
// `operators`: of the ONNX nodes as they were imported, so that an operator also names those which layers took in; null: not known.
Requests requests_of(const Graph& graph, const PrecisionPlan& plan, bool carries_qdq,
                     const NodeOperators* operators = nullptr);

// Of the finished graph: one for each ONNX node in it, in its order, then the nodes that are asked for and gone.
std::vector<NodePrecision> node_precisions(const Graph& graph,
                                           std::span<const NodeRequest> requests);

// One sentence for each node that got something else: in the words that users of TensorRT search for.
std::vector<std::string> violations_of(std::span<const NodePrecision> nodes);

// Throws Error(invalid_argument) with every node that got something else, its reason, and the least change of the constraints that
// builds.
void check_obeyed(std::span<const NodePrecision> nodes);

// The same before ranges are known, for what no data can change. `assumed` are ranges for whatever may have one.
void check_obeyable(Graph graph, const Ranges& assumed, const PrecisionPlan& plan,
                    const Requests& requests);

// After assign_precision: sees to the types of results that are asked for, until drop_marks().
void mark_results(Graph& graph, std::span<const LayerRequest> requests, Ranges& ranges);
void drop_marks(Graph& graph);

}  // namespace octet
