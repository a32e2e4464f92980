// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/code_reals.h"

#include <cmath>

#include "backends/cuda/lower/codes.h"
#include "graph/op_traits.h"

namespace octet::cuda {
namespace {

bool is_plain(const Graph& graph, const Node& node, ValueId reals) {
  return graph.value(reals).type.dtype == Dtype::f32 && code_scale_of(graph, node).has_value();
}

}  // namespace

std::optional<CodeScale> code_scale_of(const Graph& graph, const Node& node) {
  constexpr size_t kZeroPoint = 2;
  const ValueId codes = node.op->name == "QuantizeLinear" ? node.outputs[0] : node.inputs[0];
  const Tensor* scale = graph.constant_input(node, 1);
  if (!is_code(graph.value(codes).type.dtype) || scale == nullptr || scale->elements() != 1 ||
      scale->dtype() != Dtype::f32)
    return {};
  CodeScale code{.scale = scale->as<f32>()[0]};
  if (!(code.scale > 0) || !std::isfinite(code.scale)) return {};
  if (node.input(kZeroPoint) == kNoValue) return code;
  const Tensor* zero_point = graph.constant_input(node, kZeroPoint);
  if (zero_point == nullptr || zero_point->elements() != 1) return {};
  code.zero_point = zero_point->dtype() == Dtype::s8 ? s32{zero_point->as<s8>()[0]}
                                                     : s32{zero_point->as<u8>()[0]};
  return code;
}

bool is_plain_quantize(const Graph& graph, const Node& node) {
  return node.op->name == "QuantizeLinear" && is_plain(graph, node, node.inputs[0]);
}

bool is_plain_dequantize(const Graph& graph, const Node& node) {
  return node.op->name == "DequantizeLinear" && is_plain(graph, node, node.outputs[0]) &&
         !graph.is_constant(node.inputs[0]);
}

std::string dequantized_text(const Graph& graph, const Node& node, const std::string& code) {
  const CodeScale own = *code_scale_of(graph, node);
  return fmt::format("f32_mul(centered({}, {}), {})", code, own.zero_point, exact_text(own.scale));
}

std::string quantized_text(const Graph& graph, const Node& node, const std::string& real) {
  const CodeRange range = code_range(graph.value(node.outputs[0]).type.dtype);
  const CodeScale own = *code_scale_of(graph, node);
  return fmt::format("quantized({}, {}, {}, {}, {}, {})", real, exact_text(own.scale),
                     exact_text(reciprocal_of(own.scale)), own.zero_point, range.lo, range.hi);
}

}  // namespace octet::cuda
