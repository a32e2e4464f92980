// SPDX-License-Identifier: Apache-2.0
// What codes cost a normalization of each channel by itself
// (InstanceNormalization), and how they come to cost less: it undoes any scale
// and any offset that a channel of its input has, so the convolution before it
// gives each channel the whole range of codes.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "precision/precision.h"

namespace octet {

// The part of a channel of its input, as a mean over the channels, that
// rounding to codes takes away: 0 nothing, 1 all. Nothing where the channels
// were not measured, or the range cuts values that were seen.
std::optional<f64> lost_by_normalization(const Graph& graph, const Uses& uses, const Node& norm,
                                         const Ranges& ranges);

// After assign_precision: gives the channels between convolutions and
// normalizations in INT8 one width, in the weights and biases; what was
// measured of these values is replaced by their new range, and they get names
// of their own, since they stand for other numbers.
void level_channels(Graph& graph, Ranges& ranges);

}  // namespace octet
