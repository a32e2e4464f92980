// SPDX-License-Identifier: Apache-2.0
// Concrete shape inference: from the sizes of the graph's inputs to the type of every value, evaluating shape arithmetic
// on the way. Used on sample sizes by the compiler and on real sizes by the planner.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace octet {

struct PropagateOptions {
  // Values computed from constants alone are evaluated up to this size; larger ones are left to the run.
  s64 fold_bytes = s64{1} << 20;
  // DequantizeLinear of constants stays a node (explicit Q/DQ weights, needed by fusion).
  bool keep_dequantize = false;
  // Convolutions and matrix products of constants stay nodes: at plan time they are work that the user should see.
  bool keep_products = false;
};

struct Propagated {
  std::vector<TensorType> types;  // of every value
  std::vector<Tensor> known;  // the value itself where it does not depend on input data; else empty
};

// `input_shapes` in the order of graph.inputs, concrete. Throws Error naming the node whose inputs do not fit.
Propagated propagate(const Graph& graph, std::span<const Shape> input_shapes,
                     const PropagateOptions& options = {});

}  // namespace octet
