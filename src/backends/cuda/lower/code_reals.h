// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear of codes of 8 bits with one constant scale and zero point, as parts of other kernels: text in the words of device/elements.cuh.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace octet::cuda {

// Codes of one scale and zero point for all.
struct CodeScale {
  f32 scale = 1;
  s32 zero_point = 0;
};
// Of DequantizeLinear or QuantizeLinear; nothing where they are not constant, or more than one.
std::optional<CodeScale> code_scale_of(const Graph& graph, const Node& node);

bool is_plain_quantize(const Graph& graph, const Node& node);
bool is_plain_dequantize(const Graph& graph, const Node& node);
// The real of a code, and the code of a real, as such a node has them.
std::string dequantized_text(const Graph& graph, const Node& node, const std::string& code);
std::string quantized_text(const Graph& graph, const Node& node, const std::string& real);

}  // namespace octet::cuda
