// SPDX-License-Identifier: Apache-2.0
// Functions of single elements: quantization and back, tables, sums, products and minima of codes.
#include <bit>
#include <cmath>

#include "backends/cuda/families/map/elements.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/quant_axis.h"
#include "ops/shared/axes.h"

namespace octet::cuda {
namespace {

// Scales and zero points of QuantizeLinear and DequantizeLinear with codes of this type.
struct Scaling {
  Tensor scale, zero_point;  // the latter may be empty
  bool one = true;           // of each

  f32 first_scale() const { return scale.as<f32>()[0]; }
  s32 first_zero_point() const {
    if (!zero_point) return 0;
    return zero_point.dtype() == Dtype::u8 ? s32{zero_point.as<u8>()[0]}
                                           : s32{zero_point.as<s8>()[0]};
  }
};

Tensor reshaped(const Tensor& tensor, const Shape& shape) {
  Tensor result(tensor.dtype(), shape);
  std::memcpy(result.mutable_data(), tensor.data(), tensor.bytes());
  return result;
}

std::string read_scaling(const LowerRequest& request, Dtype codes, Scaling& scaling) {
  const Tensor* scale = request.constant(1);
  const Tensor* zero_point = request.has_input(2) ? request.constant(2) : nullptr;
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (scale == nullptr || scale->dtype() != Dtype::f32) return "the scale is not constant f32";
  if (request.has_input(2) && zero_point == nullptr) return "the zero point is not constant";
  if (!is_code(codes)) return "the codes are not u8 or s8";
  scaling.one = scale->elements() == 1;
  scaling.scale = *scale;
  if (zero_point != nullptr) scaling.zero_point = *zero_point;
  if (scaling.one) return {};
  const Shape& data = request.inputs[0].shape;
  const QuantAxis axis = quant_axis(request.node, data, scale->shape());
  if (axis.block != 0) return "there is one scale for each block";
  Shape along{axis.count};  // as it is broadcast: the axes behind
  for (int d = normalize_axis(attribute_of<&ScaleAttributes::axis>(request.node), data.rank()) + 1;
       d < data.rank(); ++d)
    along.push_back(1);
  scaling.scale = reshaped(*scale, along);
  if (zero_point != nullptr && zero_point->elements() > 1)
    scaling.zero_point = reshaped(*zero_point, along);
  return {};
}

std::string range_text(Dtype codes) {
  const CodeRange range = code_range(codes);
  return fmt::format("{}, {}", range.lo, range.hi);
}

// The third operand where there is one zero point for each scale, else its value.
std::string zero_point_text(Elementwise& step, const Scaling& scaling) {
  if (!scaling.zero_point || scaling.zero_point.elements() == 1)
    return fmt::format("{}", scaling.first_zero_point());
  step.types.push_back(scaling.zero_point.type());
  step.constants.push_back(scaling.zero_point);
  return "(s32)c";
}

Elementwise scaled(const LowerRequest& request, const Scaling& scaling) {
  Elementwise step{.types = {request.outputs[0], request.inputs[0]}, .body = ""};
  step.constants.emplace_back();
  if (scaling.one) return step;
  step.types.push_back(scaling.scale.type());
  step.constants.push_back(scaling.scale);
  return step;
}

}  // namespace

Offer lower_quantize(const LowerRequest& request) {
  Scaling scaling;
  const Dtype codes = request.outputs[0].dtype;
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (std::string reason = read_scaling(request, codes, scaling); !reason.empty())
    return Reject{reason};
  Elementwise step = scaled(request, scaling);
  const std::string zero_point = zero_point_text(step, scaling);
  const f32 scale = scaling.first_scale();
  step.body = scaling.one
                  ? fmt::format("quantized(a, {}, {}, {}, {})", exact_text(scale),
                                exact_text(reciprocal_of(scale)), zero_point, range_text(codes))
                  : fmt::format("quantized(a, b, 0.0f, {}, {})", zero_point, range_text(codes));
  const bool turned = scaling.one && is_picture(request);
  Offer offer = elementwise(request, "quantize", common_layout(request), std::move(step));
  Candidate* candidate = std::get_if<Candidate>(&offer);
  if (candidate == nullptr) return offer;
  candidate->cost =
      bytes_cost(static_cast<f64>(request.inputs[0].bytes() + request.outputs[0].bytes()),
                 device_of(request).chip());
  if (turned) {
    candidate->outputs = {Layout::nhwc};
    candidate->note = "nchw to nhwc in one pass";
  }
  return offer;
}

Offer lower_dequantize(const LowerRequest& request) {
  Scaling scaling;
  if (request.outputs[0].dtype != Dtype::f32) return Reject{"the output is not f32"};
  if (std::string reason = read_scaling(request, request.inputs[0].dtype, scaling); !reason.empty())
    return Reject{reason};
  Elementwise step = scaled(request, scaling);
  const std::string zero_point = zero_point_text(step, scaling);
  step.body = fmt::format("f32_mul(centered(a, {}), {})", zero_point,
                          scaling.one ? exact_text(scaling.first_scale()) : "b");
  return elementwise(request, "dequantize", common_layout(request), std::move(step));
}

Offer lower_table(const LowerRequest& request) {
  const Tensor* table = request.constant(1);
  if (table == nullptr) return Reject{"the table is not a constant"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  Elementwise step{.types = {request.outputs[0], request.inputs[0]},
                   .body = "table[(u8)a]",
                   .table = *table,
                   .table_flipped = request.inputs[0].dtype == Dtype::s8};
  Offer offer = elementwise(request, "table", common_layout(request), std::move(step));
  if (Candidate* candidate = std::get_if<Candidate>(&offer)) candidate->overwrites = {0};
  return offer;
}

namespace {

Offer binary(const LowerRequest& request, const char* kernel, std::string body) {
  for (const TensorType& type : request.inputs) {
    if (!is_code(type.dtype)) return Reject{"the operands are not codes"};
  }
  return elementwise_of_inputs(request, kernel, std::move(body));
}

}  // namespace

Offer lower_add_codes(const LowerRequest& request) {
  const std::vector<f32> m = attribute_of<&QAddAttributes::multipliers>(request.node);
  if (m.size() != 2) return Reject{"there are not two multipliers"};
  const Epilogue epilogue = epilogue_of(request.node);
  const std::string t =
      fmt::format("f32_fma({}, {}, f32_mul({}, {}))", centered_text(epilogue, 0, "a"),
                  exact_text(m[0]), centered_text(epilogue, 1, "b"), exact_text(m[1]));
  return binary(request, "add_codes", code_text(epilogue, t));
}

// The product of two centered codes is an integer below 2^24: exact.
Offer lower_mul_codes(const LowerRequest& request) {
  const Epilogue epilogue = epilogue_of(request.node);
  const std::string t =
      fmt::format("f32_mul(f32_mul({}, {}), {})", centered_text(epilogue, 0, "a"),
                  centered_text(epilogue, 1, "b"),
                  exact_text(attribute_of<&QMulAttributes::multiplier>(request.node)));
  return binary(request, "mul_codes", code_text(epilogue, t));
}

Offer lower_min_codes(const LowerRequest& request) {
  const size_t inputs = request.inputs.size();
  return binary(request, "min_codes",
                inputs == 1   ? "a"
                : inputs == 2 ? "a < b ? a : b"
                              : "min(min((s32)a, (s32)b), (s32)c)");
}

}  // namespace octet::cuda
