// SPDX-License-Identifier: Apache-2.0
// From sums of a product of reals to what is stored, as fields of specs: bias, residual, activation, rounding, a function of one value, a residual behind it, codes.
#include <algorithm>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/float_product.h"
#include "ops/attributes/functions.h"

namespace octet::cuda {

EndFunction end_function(const Node& node) {
  struct Named {
    std::string_view op;
    EndFunction function;
  };
  constexpr Named kFunctions[] = {{"Sigmoid", EndFunction::sigmoid},
                                  {"Swish", EndFunction::swish},
                                  {"HardSwish", EndFunction::hard_swish},
                                  {"HardSigmoid", EndFunction::hard_sigmoid},
                                  {"Gelu", EndFunction::gelu},
                                  {"Tanh", EndFunction::tanh},
                                  {"Mish", EndFunction::mish}};
  if (node.inputs.size() != 1) return EndFunction::none;
  if (node.op->name == "Gelu" && attribute_of<&GeluAttributes::approximate>(node) == GeluForm::tanh)
    return EndFunction::gelu_tanh;
  const auto found = std::ranges::find(kFunctions, node.op->name, &Named::op);
  return found == std::end(kFunctions) ? EndFunction::none : found->function;
}

FunctionEnd function_end(const Node& node) {
  const EndFunction kind = end_function(node);
  const auto of_sigmoid = attributes_of<HardSigmoidAttributes>(node);
  const bool swish = kind == EndFunction::swish;
  return {.kind = kind,
          .first = bits_of(swish ? attribute_of<&AlphaAttributes::alpha>(node) : of_sigmoid.alpha),
          .second = bits_of(of_sigmoid.beta),
          .rounded = Number::f32};
}

ConvWindow float_window(const FloatProduct& product) {
  const Scaling codes = product.dequantized.value_or(Scaling{});
  return window_fields(product.geometry, codes.type == Number::s8, codes.zero_point);
}

RealEnd real_end(const FloatProduct& product) {
  const Activation& activation = product.activation;
  const Scaling codes = product.quantized.value_or(Scaling{});
  const CodeRange range = code_range(codes.type == Number::s8 ? Dtype::s8 : Dtype::u8);
  return {.y = product.quantized ? codes.type : product.y_type,
          .x_scale = bits_of(product.dequantized.value_or(Scaling{}).scale),
          .bias = product.has_bias,
          .residual = product.has_residual,
          .residual_type =
              product.residual_codes ? product.residual_codes->type : product.residual_type,
          .residual_scale = bits_of(product.residual_codes.value_or(Scaling{}).scale),
          .residual_zero_point = product.residual_codes.value_or(Scaling{}).zero_point,
          .residual_rounded = product.residual_rounded,
          .leaky = activation.kind == Activation::Kind::leaky_relu,
          .alpha = bits_of(activation.alpha),
          .clamp = activation.is_clamp(),
          .clamp_lo = bits_of(activation.min),
          .clamp_hi = bits_of(activation.max),
          .rounded = product.rounded,
          .function = product.function,
          .residual_last = product.residual_last,
          .sum_rounded = product.sum_rounded,
          .scale = bits_of(codes.scale),
          .reciprocal = bits_of(reciprocal_of(codes.scale)),
          .zero_point = codes.zero_point,
          .lo = range.lo,
          .hi = range.hi};
}

PixelStrides in_bytes(const PixelStrides& numbers, s64 bytes) {
  return {numbers.image * bytes, numbers.row * bytes, numbers.pixel * bytes};
}

s64 pixel_access(s64 most, s64 channels, const PixelStrides& by, s64 offset) {
  return common_power(most, {channels, by.image, by.row, by.pixel, offset});
}

RealEndParams real_end_params(const FloatProduct& product, const StepData& data, size_t bias) {
  RealEndParams p{};
  if (product.has_bias)
    p.bias = product.bias ? data.blob<f32>(bias)
                          : reinterpret_cast<const f32*>(data.input(product.bias_input));
  if (product.has_residual) p.residual = data.input(product.residual_input);
  p.y = data.output();
  return p;
}

}  // namespace octet::cuda
