// SPDX-License-Identifier: Apache-2.0
#include "ops/code_attributes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/rounding.h"
#include "ops/activation.h"
#include "ops/registry.h"

namespace octet {
namespace {

bool is_code_type(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::s8; }

// The codes that the output may take after the node's activation.
CodeRange output_range(const QuantizeRequest& request, const Activation& activation) {
  const bool is_unsigned = request.output_dtype == Dtype::u8;
  CodeRange range{request.output.zero_point, is_unsigned ? 0 : -128, is_unsigned ? 255 : 127};
  if (activation.kind == Activation::Kind::none) return range;
  const auto code = [&](f32 x) {
    return quantize(x, request.output.scale, range.zero_point, range.lo, range.hi);
  };
  const s32 lo = code(activation.min);
  const s32 hi = code(activation.max);
  range.lo = std::min(lo, hi);  // an empty interval clamps to its upper end
  range.hi = hi;
  return range;
}

}  // namespace

std::string reject_inputs(const QuantizeRequest& request, size_t inputs) {
  for (size_t i = 0; i < inputs; ++i) {
    if (i >= request.inputs.size() || request.inputs[i].codes == kNoValue) {
      return fmt::format("input {} is not quantized", i);
    }
    const QuantizedInput& input = request.inputs[i];
    const Dtype dtype = request.graph.value(input.codes).type.dtype;
    if (!is_code_type(dtype)) {
      return fmt::format("input {} has {} codes, expected u8 or s8", i, dtype_name(dtype));
    }
    if (input.scale.elements() != 1) return fmt::format("input {} has a scale per channel", i);
  }
  return {};
}

QuantizeResult code_node(const QuantizeRequest& request, std::string_view op, size_t inputs) {
  QuantizeResult result;
  result.reject = reject_inputs(request, inputs);
  if (!result.reject.empty()) return result;
  if (!is_code_type(request.output_dtype)) {
    result.reject = "the output stays real";
    return result;
  }
  const Activation activation = activation_of(request.node);
  if (activation.kind == Activation::Kind::leaky_relu) {
    result.reject = "a fused LeakyRelu has no integer form here";
    return result;
  }
  std::vector<s64> zero_points;
  for (size_t i = 0; i < inputs; ++i) {
    result.node.inputs.push_back(request.inputs[i].codes);
    zero_points.push_back(request.inputs[i].zero_point);
  }
  const CodeRange range = output_range(request, activation);
  result.node.op = find_op(op);
  OCTET_CHECK(result.node.op != nullptr);
  Attrs& attrs = result.node.attrs;
  attrs.set("input_zero_points", std::move(zero_points));
  attrs.set("output_dtype", std::string(dtype_name(request.output_dtype)));
  attrs.set("output_zero_point", s64{range.zero_point});
  attrs.set("lo", s64{range.lo});
  attrs.set("hi", s64{range.hi});
  return result;
}

bool all_finite(std::span<const f32> multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(),
                     [](f32 m) { return std::isfinite(m); });
}

}  // namespace octet
