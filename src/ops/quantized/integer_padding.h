// SPDX-License-Identifier: Apache-2.0
// Padding of an integer convolution whose zero point comes with the run.
#pragma once

#include <optional>

#include "ops/shared/node_parser.h"

namespace octet {

// Padding is the zero point of x, input 0, which a convolution that knows it pads with by itself; one of the run, input `zero_point`, becomes
// the value of a Pad before it. What the convolution reads then; nothing where the sizes of the padding depend on those of x.
std::optional<ValueId> padded_by_zero_point(NodeParser& parser, const Shape& weights,
                                            size_t zero_point);

}  // namespace octet
