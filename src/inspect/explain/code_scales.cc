// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/code_scales.h"

#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"

namespace octet {
namespace {

std::optional<f32> scale_of(const Graph& graph, ValueId id) {
  if (id == kNoValue || !graph.value(id).quant) return std::nullopt;
  return graph.value(id).quant->scale;
}

// Of the codes, or the reals, that the multiplier leads to; nothing where a table follows: its node says no scale of the codes before it.
std::optional<f32> product_scale(const Graph& graph, const Node& node) {
  if (node.input(kProductTable) != kNoValue) return std::nullopt;
  const Epilogue epilogue = epilogue_of(node);
  if (epilogue.real()) return 1.0f;
  const auto result = scale_of(graph, node.outputs[0]);
  if (!result || node.input(kProductAddend) == kNoValue) return result;
  return epilogue.sum ? *result * epilogue.sum->own_multiplier : result;
}

// real = x_scale * weight_scale * sum, and multiplier = x_scale * weight_scale / result_scale.
std::vector<f32> weight_scales(const Graph& graph, const Node& node) {
  const Tensor* multiplier = graph.constant_input(node, kProductMultiplier);
  const auto x = scale_of(graph, node.input(kProductX));
  const auto result = product_scale(graph, node);
  if (multiplier == nullptr || multiplier->dtype() != Dtype::f32 || !x || !result) return {};
  std::vector<f32> scales;
  for (const f32 m : multiplier->as<f32>()) {
    scales.push_back(
        static_cast<f32>(static_cast<f64>(m) * static_cast<f64>(*result) / static_cast<f64>(*x)));
  }
  return scales;
}

}  // namespace

CodeScale code_scale(const Value& value) {
  if (!value.quant) return {};
  return {{value.quant->scale}, value.quant->zero_point};
}

std::vector<ConstantInfo> constants_of(const Graph& graph, const Node& node) {
  std::vector<ConstantInfo> constants;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!graph.is_constant(id)) continue;
    const Value& value = graph.value(id);
    ConstantInfo info{value.name, value.constant.type(), code_scale(value)};
    if (node.op->traits->product_epilogue && i == kProductWeights) {
      info.codes.scales = weight_scales(graph, node);
      info.codes.zero_point = input_zero_point(node, i);
    }
    constants.push_back(std::move(info));
  }
  return constants;
}

}  // namespace octet
