// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rounding.h"
#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/zero_points.h"
#include "ops/registry.h"

namespace octet {
namespace {

bool is_scale(f32 scale) { return std::isnormal(scale) && scale > 0.0f; }

std::string bad_quant(std::string_view what, f32 scale, s32 zero_point, Dtype dtype) {
  if (!is_code(dtype)) return fmt::format("{} is {}, not u8 or s8", what, dtype_name(dtype));
  if (!is_scale(scale))
    return fmt::format("the scale of {} is {}, not a positive number", what, scale);
  const CodeRange codes = code_range(dtype);
  if (zero_point < codes.lo || zero_point > codes.hi) {
    return fmt::format("the zero point {} of {} is no {} code", zero_point, what,
                       dtype_name(dtype));
  }
  return {};
}

void fold_clamp(CodeRange& range, const Activation& activation, const QuantParams& output) {
  const CodeRange codes = range;
  range.lo = quantize(activation.min, output.scale, output.zero_point, codes.lo, codes.hi);
  range.hi = quantize(activation.max, output.scale, output.zero_point, codes.lo, codes.hi);
  range.lo = std::min(range.lo, range.hi);  // ONNX: where min > max, max wins
}

}  // namespace

std::string unreadable_codes(const QuantizeRequest& request, size_t i, s64 scales) {
  if (i >= request.inputs.size() || request.inputs[i].codes == kNoValue) {
    return fmt::format("input {} stays real", i);
  }
  const QuantizedInput& input = request.inputs[i];
  const s64 given = input.scale.elements();
  if (given != 1 && given != scales) {
    return fmt::format(
        "input {} has {} scales; an operator that joins channels takes one for all of them", i,
        given);
  }
  for (f32 scale : input.scale.as<f32>()) {
    std::string why =
        bad_quant(fmt::format("input {}", i), scale, input.zero_point, codes_dtype(request, i));
    if (!why.empty()) return why;
  }
  return {};
}

std::string unwritable_output(const QuantizeRequest& request) {
  if (wants_real_output(request)) return {};
  return bad_quant("the output", request.output.scale, request.output.zero_point,
                   request.output_dtype);
}

std::string not_all_codes(const QuantizeRequest& request, size_t count) {
  if (wants_real_output(request)) return "its output stays real";
  for (size_t i = 0; i < count; ++i) {
    if (std::string why = unreadable_codes(request, i); !why.empty()) return why;
  }
  return unwritable_output(request);
}

Dtype codes_dtype(const QuantizeRequest& request, size_t i) {
  return request.graph.value(request.inputs[i].codes).type.dtype;
}

Node integer_node(std::string_view op, std::vector<ValueId> inputs) {
  Node node;
  node.op = find_op(op);
  OCTET_CHECK(node.op != nullptr);
  node.inputs = std::move(inputs);
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
  return node;
}

void set_output_attrs(Node& node, const QuantizeRequest& request, const Activation& activation) {
  const bool real = wants_real_output(request);
  if (real) set_attribute<&OutputCodesAttributes::output_dtype>(node.attrs, Dtype::f32);
  if (real || activation.kind == Activation::Kind::leaky_relu) {
    copy_attributes<ActivationAttributes>(request.node.attrs, node.attrs);
  }
  if (real) return;
  CodeRange range = code_range(request.output_dtype);
  if (activation.is_clamp()) fold_clamp(range, activation, request.output);
  range.zero_point = request.output.zero_point;
  set_output_codes(node, request.output_dtype, range);
}

void set_zero_points(Node& node, const QuantizeRequest& request, std::vector<size_t> from) {
  std::vector<s32> zero_points;
  for (size_t i : from) {
    const bool codes = i < request.inputs.size() && request.inputs[i].codes != kNoValue;
    zero_points.push_back(codes ? request.inputs[i].zero_point : 0);
  }
  zero_points.resize(node.inputs.size(), 0);
  set_input_zero_points(node, zero_points);
}

QuantizeResult code_node(const QuantizeRequest& request, std::string_view op, size_t inputs) {
  if (std::string why = not_all_codes(request, inputs); !why.empty()) return reject(why);
  const Activation activation = activation_of(request.node);
  if (activation.kind == Activation::Kind::leaky_relu)
    return reject("a fused LeakyRelu has no integer form here");
  std::vector<ValueId> codes;
  std::vector<size_t> from;
  for (size_t i = 0; i < inputs; ++i) {
    codes.push_back(request.inputs[i].codes);
    from.push_back(i);
  }
  QuantizeResult result{integer_node(op, std::move(codes)), {}};
  set_zero_points(result.node, request, std::move(from));
  set_output_attrs(result.node, request, activation);
  return result;
}

bool all_finite(std::span<const f32> numbers) {
  return std::ranges::all_of(numbers, [](f32 x) { return std::isfinite(x); });
}

}  // namespace octet
