// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/code_reals.h"

#include "backends/cuda/lower/codes.h"
#include "graph/op_traits.h"

namespace octet::cuda {
namespace {

bool is_plain(const Graph& graph, const Node& node, ValueId codes, ValueId reals) {
  const Tensor* scale = graph.constant_input(node, 1);
  const bool has_zero = node.input(2) != kNoValue;
  const Tensor* zero = has_zero ? graph.constant_input(node, 2) : nullptr;
  return is_code(graph.value(codes).type.dtype) && graph.value(reals).type.dtype == Dtype::f32 &&
         scale != nullptr && scale->dtype() == Dtype::f32 && scale->elements() == 1 &&
         (!has_zero || (zero != nullptr && zero->elements() == 1));
}

f32 scale_of(const Graph& graph, const Node& node) {
  return graph.constant_input(node, 1)->as<f32>()[0];
}

s32 zero_point_of(const Graph& graph, const Node& node) {
  if (node.input(2) == kNoValue) return 0;
  const Tensor* zero = graph.constant_input(node, 2);
  return zero->dtype() == Dtype::u8 ? s32{zero->as<u8>()[0]} : s32{zero->as<s8>()[0]};
}

}  // namespace

bool is_plain_quantize(const Graph& graph, const Node& node) {
  return node.op->name == "QuantizeLinear" &&
         is_plain(graph, node, node.outputs[0], node.inputs[0]);
}

bool is_plain_dequantize(const Graph& graph, const Node& node) {
  return node.op->name == "DequantizeLinear" &&
         is_plain(graph, node, node.inputs[0], node.outputs[0]) &&
         !graph.is_constant(node.inputs[0]);
}

std::string dequantized_text(const Graph& graph, const Node& node, const std::string& code) {
  return fmt::format("f32_mul(centered({}, {}), {})", code, zero_point_of(graph, node),
                     exact_text(scale_of(graph, node)));
}

std::string quantized_text(const Graph& graph, const Node& node, const std::string& real) {
  const CodeRange range = code_range(graph.value(node.outputs[0]).type.dtype);
  const f32 scale = scale_of(graph, node);
  return fmt::format("quantized({}, {}, {}, {}, {}, {})", real, exact_text(scale),
                     exact_text(reciprocal_of(scale)), zero_point_of(graph, node), range.lo,
                     range.hi);
}

}  // namespace octet::cuda
