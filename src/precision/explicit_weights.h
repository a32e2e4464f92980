// SPDX-License-Identifier: Apache-2.0
// The graph with Q/DQ as a file can hold it: what became integer has its weights as codes.
#pragma once

#include "graph/graph.h"

namespace octet {

class WeightCodes;  // ops/quantized/weight_codes.h

// `placed` is a graph with Q/DQ, `fused` what the passes made of it. Real weights of the products that became integer turn into the
// codes and scales that their integer forms have, behind a DequantizeLinear; others stay. Made again from the result, the integer
// operators are the same.
Graph with_explicit_weights(Graph placed, const Graph& fused, WeightCodes& weight_codes);

}  // namespace octet
