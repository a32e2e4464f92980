// SPDX-License-Identifier: Apache-2.0
// ConvInteger: the s32 accumulators of a convolution of codes. Inputs x, w, zero point of x, zero points of w.
#include "core/check.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/quantized/integer_inputs.h"
#include "ops/quantized/integer_weights.h"
#include "ops/shared/conv.h"
#include "ops/shared/conv_patch.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_integer_product(parser, "QConv"); }

void infer(Inference& inference) {
  const ConvGeometry geometry =
      conv_geometry(inference.node, inference.inputs[0].shape, inference.inputs[1].shape);
  check_operand(inference, 0, 2, 1);
  check_operand(inference, 1, 3, geometry.out_channels);
  inference.output(Dtype::s32, geometry.output_shape());
}

void eval(const Eval& eval) {
  const ConvGeometry geometry =
      conv_geometry(eval.node, eval.inputs[0].shape, eval.inputs[1].shape);
  const s64 taps = geometry.in_channels_per_group() * geometry.window.kernel_elements();
  const auto x = centered_operand(eval, 0, 2, 1);
  const auto weights = centered_operand(eval, 1, 3, taps);
  const auto y = eval.outputs[0].as<s32>();
  convolve(geometry, x.data(), weights.data(),
           [&](s64 index, s64, s64 acc) { y[static_cast<size_t>(index)] = wrapped(acc); });
}

}  // namespace

extern constinit const OpDef kConvInteger = open_product<convolution_macs>(
    {.name = "ConvInteger", .inputs = {2, 4}, .parse = parse, .infer = infer, .eval = eval});
}  // namespace octet
