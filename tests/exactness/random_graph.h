// SPDX-License-Identifier: Apache-2.0
// Random convolutional graphs, quantized through the real passes, for exactness tests.
#pragma once

#include "core/types.h"
#include "graph/graph.h"
#include "octet/tensor.h"
#include "passes/pass.h"

namespace octet {

// A float graph of a dozen operators: convolutions (dense, grouped, depthwise), residuals, activations, pools,
// concatenations, upsampling, and a fully connected end. The same seed gives the same graph.
Graph random_float_graph(u32 seed);

// Random normal data for the graph's inputs, with a batch of `batch` where it is dynamic.
std::vector<Tensor> random_inputs(const Graph& graph, u32 seed, s64 batch);

// The graph after float passes, min-max calibration on a few random inputs, and quantization.
Graph quantized(Graph graph, u32 seed, const PassOptions& options = {});

}  // namespace octet
