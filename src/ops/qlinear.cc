// SPDX-License-Identifier: Apache-2.0
#include "ops/qlinear.h"

#include <cmath>

#include "core/check.h"
#include "ops/axes.h"
#include "ops/float_io.h"
#include "ops/integer_inputs.h"
#include "ops/node_parser.h"

namespace octet {
namespace {

// fl(fl(scale_x * scale_w[c]) / scale_y)
std::vector<f32> multipliers_of(const FloatInput& x, const FloatInput& weights,
                                const FloatInput& y) {
  std::vector<f32> multipliers;
  for (f32 scale : weights.values()) multipliers.push_back(x[0] * scale / y[0]);
  return multipliers;
}

std::vector<s32> codes_of(const Tensor& tensor) {
  std::vector<s32> codes;
  const ConstView codes_view = view(tensor);
  for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
    codes.push_back(code_at(codes_view, i));
  }
  return codes;
}

// Symmetric weights as s8, or nothing: u8 with zero points 128, s8 with 0.
std::optional<Tensor> symmetric_weights(const Tensor& weights, const Tensor& zero_points) {
  if (!is_code(weights.dtype()) || zero_points.dtype() != weights.dtype()) return {};
  const s32 center = weights.dtype() == Dtype::u8 ? 128 : 0;
  for (s32 zero_point : codes_of(zero_points)) {
    if (zero_point != center) return {};
  }
  Tensor relabeled(Dtype::s8, weights.shape());
  const auto dst = relabeled.mutable_as<s8>();
  const ConstView src = view(weights);
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = static_cast<s8>(code_at(src, i) - center);
  return relabeled;
}

bool is_scalar_code(const Tensor& tensor) {
  return is_code(tensor.dtype()) && tensor.elements() == 1;
}

bool is_real(const Tensor& tensor) {
  return tensor.dtype() == Dtype::f32 || tensor.dtype() == Dtype::f16;
}

bool all_constant(const NodeParser& parser) {
  for (size_t i = kQlXScale; i <= kQlYZeroPoint; ++i) {
    if (parser.constant(i) == nullptr) return false;
  }
  const auto real = [&](size_t i) { return is_real(*parser.constant(i)); };
  const auto scalar = [&](size_t i) { return parser.constant(i)->elements() == 1; };
  return real(kQlXScale) && scalar(kQlXScale) && real(kQlYScale) && scalar(kQlYScale) &&
         real(kQlWeightScale) && is_scalar_code(*parser.constant(kQlXZeroPoint)) &&
         is_scalar_code(*parser.constant(kQlYZeroPoint));
}

}  // namespace

void parse_qlinear(NodeParser& parser, std::string_view op, int channel_axis) {
  if (!all_constant(parser)) return;
  const Tensor& weights = *parser.constant(kQlWeights);
  const auto codes = symmetric_weights(weights, *parser.constant(kQlWeightZeroPoint));
  const std::vector<f32> multipliers =
      multipliers_of(FloatInput(view(*parser.constant(kQlXScale))),
                     FloatInput(view(*parser.constant(kQlWeightScale))),
                     FloatInput(view(*parser.constant(kQlYScale))));
  const int axis = channel_axis < 0 ? channel_axis + weights.shape().rank() : channel_axis;
  const s64 scales = std::ssize(multipliers);
  if (!codes || (scales != 1 &&
                 (axis < 0 || axis >= weights.shape().rank() || scales != weights.shape()[axis]))) {
    return;
  }
  const s32 x_zero_point = codes_of(*parser.constant(kQlXZeroPoint))[0];
  const Tensor& y_zero_point = *parser.constant(kQlYZeroPoint);
  const CodeRange range = code_range(y_zero_point.dtype());
  Node& node = parser.node;
  node.attrs.set("output_dtype", std::string(dtype_name(y_zero_point.dtype())));
  node.attrs.set("output_zero_point", s64{codes_of(y_zero_point)[0]});
  node.attrs.set("lo", s64{range.lo});
  node.attrs.set("hi", s64{range.hi});
  node.attrs.set("input_zero_points", std::vector<s64>{x_zero_point, 0, 0, 0});
  node.inputs = {node.input(kQlX), kNoValue, node.input(kQlBias), kNoValue};
  parser.set_input(kProductWeights, *codes);
  parser.set_input(kProductMultiplier, Tensor::of<f32>(Shape{scales}, multipliers));
  parser.become(op);
}

void infer_qlinear(Inference& inference, const Shape& output, s64 channels) {
  check_operand(inference, kQlX, kQlXZeroPoint, 1);
  check_operand(inference, kQlWeights, kQlWeightZeroPoint, channels);
  for (size_t i : {kQlXScale, kQlWeightScale, kQlYScale}) {
    require_dtype(inference, i, DtypeClass::real);
    const s64 count = inference.inputs[i].shape.elements();
    if (count == 1 || (i == kQlWeightScale && count == channels)) continue;
    fail(Error::Code::unsupported, "the scale at input {} is {}, expected one value{}", i,
         to_string(inference.inputs[i]), i == kQlWeightScale ? " or one for each channel" : "");
  }
  const TensorType& y_zero_point = inference.inputs[kQlYZeroPoint];
  if (!is_code(y_zero_point.dtype) || y_zero_point.shape.elements() != 1) {
    fail(Error::Code::invalid_model, "the zero point of y is {}, expected one u8 or s8",
         to_string(y_zero_point));
  }
  if (inference.has_input(kQlBias)) {
    const TensorType& bias = inference.inputs[kQlBias];
    if (bias.dtype != Dtype::s32 || bias.shape != Shape{channels}) {
      fail(Error::Code::invalid_model, "the bias is {}, expected s32 with {} values",
           to_string(bias), channels);
    }
  }
  inference.output(y_zero_point.dtype, output);
}

QLinearEpilogue::QLinearEpilogue(const Eval& eval)
    : multipliers_(multipliers_of(FloatInput(eval, kQlXScale), FloatInput(eval, kQlWeightScale),
                                  FloatInput(eval, kQlYScale))),
      output_(eval.outputs[0]) {
  epilogue_.output_dtype = output_.dtype;
  epilogue_.range = code_range(output_.dtype);
  epilogue_.range.zero_point = code_at(eval.inputs[kQlYZeroPoint], 0);
  if (eval.has_input(kQlBias)) bias_ = eval.inputs[kQlBias];
}

void QLinearEpilogue::store(s64 index, s64 channel, s32 acc) const {
  const size_t c = static_cast<size_t>(channel);
  if (bias_) acc = static_cast<s32>(static_cast<u32>(acc) + static_cast<u32>(bias_.as<s32>()[c]));
  const f32 t = static_cast<f32>(acc) * multipliers_[multipliers_.size() == 1 ? 0 : c];
  store_code(output_, static_cast<size_t>(index), to_code(epilogue_, t));
}

}  // namespace octet
