// SPDX-License-Identifier: Apache-2.0
// scale * y + shift of each output channel of a product of reals, in its weights and its bias.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace octet {

struct Affine {
  std::vector<f64> scale;  // one for each output channel
  std::vector<f64> shift;
};

// A Conv, ConvTranspose, or MatMul with a matrix of weights, whose f32 weights have so many output channels, and which ends with its bias: no
// residual, no activation.
bool takes_affine(const Graph& graph, const Node& product, size_t channels);

// The axis of the product's result that has its output channels.
int output_channel_axis(const Graph& graph, const Node& product);

// The f32 weights of the product, those of output channel c times scale[c].
Tensor scaled_weights(const Node& product, const Tensor& weights, const Affine& affine);

// scale * bias + shift; a bias that is null is zero.
Tensor folded_bias(const Tensor* bias, const Affine& affine);

}  // namespace octet
