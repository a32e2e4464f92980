// SPDX-License-Identifier: Apache-2.0
// Whether a model's own Q/DQ nodes and integer operators cost more than they bring.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace octet {

// Whether products are left that ONNX's integer operators make and no kernel does.
bool has_integer_products(const Graph& graph);

// One sentence where the graph, as it was quantized, would run slower than in FP32: conversions that no kernel takes, products left in
// f32 or to the reference. An estimate from the sizes that are known; nothing where they are not.
std::optional<std::string> slower_than_float(const Graph& graph);

}  // namespace octet
