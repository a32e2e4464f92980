// SPDX-License-Identifier: Apache-2.0
#include "passes/qdq.h"

#include <algorithm>

#include "core/rounding.h"
#include "core/small_types.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"

namespace octet {
namespace {

Tensor code_scalar(const CodeType& type) {
  if (type.dtype == Dtype::u8) return Tensor::scalar<u8>(static_cast<u8>(type.params.zero_point));
  return Tensor::scalar<s8>(static_cast<s8>(type.params.zero_point));
}

std::vector<ValueId> qdq_inputs(Graph& graph, ValueId input, const CodeType& type,
                                std::string_view name) {
  const std::string base(name);
  return {input, graph.add_constant(base + ".scale", Tensor::scalar<f32>(type.params.scale)),
          graph.add_constant(base + ".zero_point", code_scalar(type))};
}

// Integer constants of any width, as s32.
std::vector<s32> integers(const Tensor& tensor) {
  std::vector<s32> values;
  if (tensor.dtype() == Dtype::u8)
    for (u8 v : tensor.as<u8>()) values.push_back(v);
  if (tensor.dtype() == Dtype::s8)
    for (s8 v : tensor.as<s8>()) values.push_back(v);
  if (tensor.dtype() == Dtype::s32)
    for (s32 v : tensor.as<s32>()) values.push_back(v);
  return values;
}

}  // namespace

ValueId result_of(const Node& node) {
  const auto read = std::ranges::find_if(node.outputs, [](ValueId id) { return id != kNoValue; });
  const bool any = node.op->traits->recurrence_of_codes != nullptr;
  return read == node.outputs.end() || (!any && read != node.outputs.begin()) ? kNoValue : *read;
}

std::optional<CodeType> code_type(const Graph& graph, const Node& node) {
  const Tensor* scale = graph.constant_input(node, 1);
  const Tensor* zero_point = graph.constant_input(node, 2);
  if (scale == nullptr || scale->dtype() != Dtype::f32 || scale->elements() != 1)
    return std::nullopt;
  CodeType type;
  type.params.scale = scale->as<f32>()[0];
  type.dtype = graph.value(is_quantize(node) ? node.outputs[0] : node.inputs[0]).type.dtype;
  if (!is_code(type.dtype)) return std::nullopt;
  if (node.input(2) == kNoValue) return type;
  if (zero_point == nullptr || zero_point->elements() != 1) return std::nullopt;
  type.params.zero_point = integers(*zero_point).at(0);
  return type;
}

std::optional<ChannelCodes> channel_codes(const Graph& graph, const Node& quantize) {
  const Tensor* scale = graph.constant_input(quantize, 1);
  const Tensor* zero_point = graph.constant_input(quantize, 2);
  const TensorType& type = graph.value(quantize.outputs[0]).type;
  const int rank = type.shape.is_unknown() ? 0 : type.shape.rank();
  const s64 axis = attribute_of<&ScaleAttributes::axis>(quantize);
  if (scale == nullptr || scale->dtype() != Dtype::f32 || scale->shape().rank() != 1) return {};
  if (zero_point == nullptr || !is_code(type.dtype) || rank < 3 || (axis != 1 && axis + rank != 1))
    return {};
  if (attribute_of<&ScaleAttributes::block_size>(quantize) != 0) return {};
  const std::vector<s32> points = integers(*zero_point);
  const bool same = std::ranges::all_of(points, [&](s32 p) { return p == points[0]; });
  if (points.empty() || !same) return {};
  const auto scales = scale->as<f32>();
  return ChannelCodes{{scales.begin(), scales.end()}, points[0], type.dtype};
}

std::optional<QuantizedInput> read_dequantize(const Graph& graph, const Node& node) {
  const Tensor* scale = graph.constant_input(node, 1);
  if (scale == nullptr || scale->dtype() != Dtype::f32 || scale->elements() == 0)
    return std::nullopt;
  if (attribute_of<&ScaleAttributes::block_size>(node) != 0)
    return std::nullopt;  // integer products have no blocks
  if (is_small_dtype(graph.value(node.inputs[0]).type.dtype)) return std::nullopt;
  QuantizedInput input;
  input.codes = node.inputs[0];
  input.scale = *scale;
  const int rank = graph.value(input.codes).type.shape.rank();
  input.axis = attribute_of<&ScaleAttributes::axis>(node);
  if (input.axis < 0) input.axis += rank;
  if (node.input(2) == kNoValue) return input;
  const Tensor* zero_point = graph.constant_input(node, 2);
  if (zero_point == nullptr) return std::nullopt;
  const std::vector<s32> points = integers(*zero_point);
  if (points.empty()) return std::nullopt;
  input.zero_point = points[0];
  const bool same = std::ranges::all_of(points, [&](s32 p) { return p == points[0]; });
  if (!same) return std::nullopt;
  input.zero_points_are_zero = points[0] == 0;
  return input;
}

Node make_quantize(Graph& graph, ValueId input, const CodeType& type, std::string_view name) {
  Node node{.op = find_op("QuantizeLinear"),
            .name = std::string(name),
            .inputs = qdq_inputs(graph, input, type, name),
            .outputs = {},
            .attrs = {},
            .origins = {},
            .decision = {}};
  node.outputs.push_back(graph.add_value(name, {type.dtype, graph.value(input).type.shape}));
  graph.value(node.outputs[0]).quant = type.params;
  return node;
}

Node make_dequantize(Graph& graph, ValueId codes, const CodeType& type, std::string_view name) {
  Node node{.op = find_op("DequantizeLinear"),
            .name = std::string(name),
            .inputs = qdq_inputs(graph, codes, type, name),
            .outputs = {},
            .attrs = {},
            .origins = {},
            .decision = {}};
  node.outputs.push_back(graph.add_value(name, {Dtype::f32, graph.value(codes).type.shape}));
  return node;
}

Node make_rescale(Graph& graph, ValueId codes, const CodeType& from, const CodeType& to,
                  std::string_view name) {
  const CodeRange in = code_range(from.dtype), out = code_range(to.dtype);
  Tensor table(to.dtype, {256});
  for (s32 q = in.lo; q <= in.hi; ++q) {
    const f32 real = dequantize(q, from.params.scale, from.params.zero_point);
    const s32 code = quantize(real, to.params.scale, to.params.zero_point, out.lo, out.hi);
    table.mutable_data()[table_index(q, from.dtype)] = static_cast<std::byte>(code & 0xff);
  }
  const std::string base(name);
  Node node{.op = find_op("QTable"),
            .name = base,
            .inputs = {codes, graph.add_constant(base + ".table", table)},
            .outputs = {},
            .attrs = {},
            .origins = {},
            .decision = {}};
  node.outputs.push_back(graph.add_value(name, {to.dtype, graph.value(codes).type.shape}));
  graph.value(node.outputs[0]).quant = to.params;
  return node;
}

Tensor quantize_tensor(const Tensor& real, const CodeType& type) {
  const CodeRange range = code_range(type.dtype);
  Tensor codes(type.dtype, real.shape());
  size_t i = 0;
  for (f32 x : real.as<f32>()) {
    const s32 code = quantize(x, type.params.scale, type.params.zero_point, range.lo, range.hi);
    codes.mutable_data()[i++] = static_cast<std::byte>(code & 0xff);
  }
  return codes;
}

}  // namespace octet
