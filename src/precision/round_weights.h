// SPDX-License-Identifier: Apache-2.0
// Which of the two nearest codes each weight of a window gets (docs/adr/0010). Neighboring pixels of a channel are alike, so what the errors of a
// window's weights add up to costs more than each by itself: rounded to the nearest codes they may all err to one side, and the layer reads
// the channel as a little louder than it is, everywhere.
#pragma once

#include <span>

#include "graph/graph.h"
#include "octet/tensor.h"
#include "ops/quantized/weight_codes.h"

namespace octet {

// Weights [O, I / group, kh, kw] as what their codes stand for, with one of `scales` for each output: section 3 of docs/numerics.md rounds them to
// exactly those codes. `dilations`: rows, columns.
Tensor rounded_windows(const Tensor& weights, std::span<const f32> scales,
                       std::span<const s64> dilations);

// What round_weights() makes of a convolution's weights; of others what they are.
Tensor rounded_weights(const Graph& graph, const Node& conv, WeightCodes& weight_codes);

// Puts them into the graph, for all that becomes INT8. After correct_biases(), which holds them against the real ones.
void round_weights(Graph& graph, WeightCodes& weight_codes);

}  // namespace octet
