// SPDX-License-Identifier: Apache-2.0
// QLinearConv; read as QConv where it can be.
#include "ops/quantized/forms_of_codes.h"
#include "ops/quantized/integer_inputs.h"
#include "ops/quantized/qlinear.h"
#include "ops/shared/conv.h"
#include "ops/shared/conv_patch.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_qlinear(parser, "QConv"); }

void infer(Inference& inference) {
  const ConvGeometry geometry = conv_geometry(inference.node, inference.inputs[kQlX].shape,
                                              inference.inputs[kQlWeights].shape);
  infer_qlinear(inference, geometry.output_shape(), geometry.out_channels);
}

void eval(const Eval& eval) {
  const ConvGeometry geometry =
      conv_geometry(eval.node, eval.inputs[kQlX].shape, eval.inputs[kQlWeights].shape);
  const s64 taps = geometry.in_channels_per_group() * geometry.window.kernel_elements();
  const auto x = centered_operand(eval, kQlX, kQlXZeroPoint, 1);
  const auto weights = centered_operand(eval, kQlWeights, kQlWeightZeroPoint, taps);
  const QLinearEpilogue epilogue(eval);
  convolve(geometry, x.data(), weights.data(),
           [&](s64 index, s64 channel, s64 acc) { epilogue.store(index, channel, wrapped(acc)); });
}

f64 macs(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  const TensorType operands[] = {inputs[kQlX], inputs[kQlWeights]};
  return convolution_macs(node, operands, outputs);
}

}  // namespace

extern constinit const OpDef kQLinearConv = open_product<macs>(
    {.name = "QLinearConv", .inputs = {8, 9}, .parse = parse, .infer = infer, .eval = eval});
}  // namespace octet
