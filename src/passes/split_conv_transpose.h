// SPDX-License-Identifier: Apache-2.0
// What calibration asks of a pass whose work comes later: whether the transposed convolution will be integer at all.
#pragma once

#include <string>

#include "graph/graph.h"

namespace octet {

// Why a ConvTranspose of real weights would not become a convolution of its phases once Q/DQ stand around it; else empty.
std::string unsplittable_conv_transpose(const Graph& graph, const Node& node);

}  // namespace octet
