// SPDX-License-Identifier: Apache-2.0
// Reading and making the QuantizeLinear and DequantizeLinear nodes that Q/DQ passes move, cancel and fuse.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/op_traits.h"

namespace octet {

// Codes of a per-tensor activation: parameters and their dtype (u8 or s8).
struct CodeType {
  QuantParams params;
  Dtype dtype = Dtype::u8;
  bool operator==(const CodeType&) const = default;
};

// Of a QuantizeLinear or DequantizeLinear with constant per-tensor parameters and u8 or s8 codes; else nothing.
std::optional<CodeType> code_type(const Graph& graph, const Node& node);

// Codes of an activation whose channels (axis 1) have a scale each, and one zero point.
struct ChannelCodes {
  std::vector<f32> scales;
  s32 zero_point = 0;
  Dtype dtype = Dtype::u8;
};
// Of a QuantizeLinear with constant parameters of that kind; else nothing.
std::optional<ChannelCodes> channel_codes(const Graph& graph, const Node& quantize);

// What a DequantizeLinear says of its codes, per tensor or per axis; nothing when scale or zero point is not constant.
std::optional<QuantizedInput> read_dequantize(const Graph& graph, const Node& node);

// Nodes with constant scale and zero point; the output value is created and named `name`.
Node make_quantize(Graph& graph, ValueId input, const CodeType& type, std::string_view name);
Node make_dequantize(Graph& graph, ValueId codes, const CodeType& type, std::string_view name);

// 256-entry QTable that turns codes of one type into codes of another: exactly DequantizeLinear, then QuantizeLinear.
Node make_rescale(Graph& graph, ValueId codes, const CodeType& from, const CodeType& to,
                  std::string_view name);

// The result that a node's precision is about: the first one, or of a recurrent layer, whose results are all real, the first that anybody reads.
// kNoValue: there is none.
ValueId result_of(const Node& node);

// The codes of a constant f32 tensor.
Tensor quantize_tensor(const Tensor& real, const CodeType& type);

}  // namespace octet
