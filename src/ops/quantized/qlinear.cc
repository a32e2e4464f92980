// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/qlinear.h"

#include <cmath>

#include "core/check.h"
#include "ops/quantized/integer_inputs.h"
#include "ops/quantized/integer_weights.h"
#include "ops/quantized/quant_axis.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

constexpr size_t kScales[] = {kQlXScale, kQlWeightScale, kQlYScale};

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

bool is_scalar_code(const Tensor& tensor) {
  return is_code(tensor.dtype()) && tensor.elements() == 1;
}

bool is_real(const Tensor& tensor) {
  return tensor.dtype() == Dtype::f32 || tensor.dtype() == Dtype::f16;
}

bool all_constant(const NodeParser& parser) {
  for (size_t i = kQlXScale; i <= kQlYZeroPoint; ++i) {
    if (i != kQlWeights && parser.constant(i) == nullptr) return false;
  }
  const auto real = [&](size_t i) { return is_real(*parser.constant(i)); };
  const auto scalar = [&](size_t i) { return parser.constant(i)->elements() == 1; };
  return real(kQlXScale) && scalar(kQlXScale) && real(kQlYScale) && scalar(kQlYScale) &&
         real(kQlWeightScale) && is_scalar_code(*parser.constant(kQlXZeroPoint)) &&
         is_scalar_code(*parser.constant(kQlYZeroPoint));
}

struct Operands {
  ValueId x = kNoValue, weights = kNoValue;
  s32 weight_zero_point = 0;
};

std::optional<Operands> by_constant(NodeParser& parser, std::string_view op, s64 scales) {
  const Tensor& weights = *parser.constant(kQlWeights);
  const auto axes = weight_axes(op, weights);
  if (!axes || (scales != 1 && scales != weights.shape()[axes->output])) return {};
  const auto s8s = s8_weights(weights, parser.constant(kQlWeightZeroPoint), *axes,
                              takes_s16_weights(parser.node, op, weights));
  if (!s8s) return {};
  const InputChannels channels = input_channels(parser.node, op, weights, *axes);
  return Operands{repeat_channels(parser, parser.node.input(kQlX), channels, s8s->inputs),
                  parser.add_constant(s8s->codes), 0};
}

// A product of two activations; only matrices have kernels for it.
std::optional<Operands> by_activation(NodeParser& parser, std::string_view op, s64 scales) {
  const Tensor& zero_point = *parser.constant(kQlWeightZeroPoint);
  if (op != "QMatMul" || scales != 1 || !is_scalar_code(zero_point)) return {};
  return Operands{parser.node.input(kQlX), parser.node.input(kQlWeights), codes_of(zero_point)[0]};
}

}  // namespace

void parse_qlinear(NodeParser& parser, std::string_view op) {
  for (size_t i : kScales) {
    if (parser.constant(i) != nullptr) check_scale_values(*parser.constant(i));
  }
  if (!all_constant(parser)) return;
  const std::vector<f32> multipliers =
      multipliers_of(FloatInput(view(*parser.constant(kQlXScale))),
                     FloatInput(view(*parser.constant(kQlWeightScale))),
                     FloatInput(view(*parser.constant(kQlYScale))));
  const auto operands = parser.constant(kQlWeights) != nullptr
                            ? by_constant(parser, op, std::ssize(multipliers))
                            : by_activation(parser, op, std::ssize(multipliers));
  if (!operands) return;
  const s32 x_zero_point = codes_of(*parser.constant(kQlXZeroPoint))[0];
  const Tensor& y_zero_point = *parser.constant(kQlYZeroPoint);
  CodeRange range = code_range(y_zero_point.dtype());
  range.zero_point = codes_of(y_zero_point)[0];
  Node& node = parser.node;
  set_output_codes(node, y_zero_point.dtype(), range);
  set_input_zero_points(node, std::array{x_zero_point, operands->weight_zero_point, 0, 0});
  node.inputs = {operands->x, operands->weights, node.input(kQlBias), kNoValue};
  parser.set_input(kProductMultiplier,
                   Tensor::of<f32>(Shape{std::ssize(multipliers)}, multipliers));
  parser.become(op);
}

void infer_qlinear(Inference& inference, const Shape& output, s64 channels) {
  check_operand(inference, kQlX, kQlXZeroPoint, 1);
  check_operand(inference, kQlWeights, kQlWeightZeroPoint, channels);
  for (size_t i : kScales) {
    require_dtype(inference, i, DtypeClass::real);
    if (inference.value(i) != nullptr) check_scale_values(*inference.value(i));
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
