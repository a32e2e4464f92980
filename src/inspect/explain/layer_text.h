// SPDX-License-Identifier: Apache-2.0
// A layer's signature (plan/tuning.h) read back as a graph of that one node.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "plan/offer.h"

namespace octet {

struct LayerText {
  Graph graph;  // one node; the constants whose elements the signature leaves out are random
  std::vector<Layout> layouts;  // of each input of the node, as its producer leaves it
};

// Throws Error(invalid_argument) saying what is no signature of a layer, and what one looks like.
LayerText parse_layer(std::string_view signature);

// The same values for the same seed: codes of all kinds, small positive and negative numbers, and zeros for other types.
Tensor random_tensor(const TensorType& type, u32 seed);

}  // namespace octet
