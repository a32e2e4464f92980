// SPDX-License-Identifier: Apache-2.0
// Conv, 1-D to 3-D, with the bias, residual and activation that passes fold into it.
#include "ops/shared/conv.h"

#include "core/check.h"
#include "ops/quantized/quantize_product.h"
#include "ops/shared/activation.h"
#include "ops/shared/axes.h"
#include "ops/shared/conv_patch.h"
#include "ops/shared/float_io.h"
#include "ops/shared/work.h"

namespace octet {

extern const OpDef kQConv;

namespace {

enum : size_t { kX, kWeights, kBias, kResidual };

void check_bias(const Inference& inference, s64 channels) {
  if (!inference.has_input(kBias) || inference.inputs[kBias].shape == Shape{channels}) return;
  fail(Error::Code::invalid_model, "the bias is {}, expected one value for each of {} channels",
       to_string(inference.inputs[kBias]), channels);
}

void parse(NodeParser& parser) { refuse_fused_form(parser, 3); }

void infer(Inference& inference) {
  const ConvGeometry geometry =
      conv_geometry(inference.node, inference.inputs[kX].shape, inference.inputs[kWeights].shape);
  require_dtype(inference, kX, DtypeClass::real);
  require_same_dtypes(inference);
  check_bias(inference, geometry.out_channels);
  activation_of(inference.node);
  inference.output(inference.inputs[kX].dtype, geometry.output_shape());
  if (inference.has_input(kResidual) &&
      inference.inputs[kResidual].shape != inference.outputs[0].shape) {
    fail(Error::Code::invalid_model, "the residual is {}, the output {}",
         to_string(inference.inputs[kResidual]), to_string(inference.outputs[0]));
  }
}

void eval(const Eval& eval) {
  const ConvGeometry geometry =
      conv_geometry(eval.node, eval.inputs[kX].shape, eval.inputs[kWeights].shape);
  const FloatInput x(eval, kX), weights(eval, kWeights), bias(eval, kBias),
      residual(eval, kResidual);
  const FloatOutput y(eval.outputs[0]);
  const Activation activation = activation_of(eval.node);
  convolve(geometry, x.data(), weights.data(), [&](s64 index, s64 channel, f32 sum) {
    if (bias) sum += bias[channel];
    if (residual) sum += residual[index];
    y[index] = apply(activation, sum);
  });
  y.store();
}

QuantizeResult quantize(const QuantizeRequest& request) {
  const TensorType& x = request.graph.value(request.node.inputs[0]).type;
  if (!x.shape.is_unknown() && x.shape.rank() > 4)
    return {.node = {},
            .reject = "reals of volumes are faster than codes, which have no kernel of their own"};
  return quantize_product(request, kConvolutionRule);
}

constexpr OpTraits kTraits{
    .macs = convolution_macs, .takes_activation = true, .integer_product = &kQConv};

}  // namespace

extern constinit const OpDef kConv{.name = "Conv",
                                   .inputs = {2, 4},
                                   .parse = parse,
                                   .infer = infer,
                                   .eval = eval,
                                   .quant = {.kind = QuantKind::compute, .quantize = quantize},
                                   .traits = &kTraits};
}  // namespace octet
