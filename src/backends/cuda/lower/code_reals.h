// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear of codes of 8 bits with one constant scale and zero point, as parts of other kernels: text in the words of device/elements.cuh.
#pragma once

#include <string>

#include "graph/graph.h"

namespace octet::cuda {

bool is_plain_quantize(const Graph& graph, const Node& node);
bool is_plain_dequantize(const Graph& graph, const Node& node);
// The real of a code, and the code of a real, as such a node has them.
std::string dequantized_text(const Graph& graph, const Node& node, const std::string& code);
std::string quantized_text(const Graph& graph, const Node& node, const std::string& real);

}  // namespace octet::cuda
