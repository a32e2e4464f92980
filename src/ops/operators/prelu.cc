// SPDX-License-Identifier: Apache-2.0
// PRelu: x, or slope * x below zero; the slope broadcasts to x.
#include "core/check.h"
#include "graph/op_def.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

// Before opset 7 the slope was one value or one for each channel.
void parse(NodeParser& parser) {
  drop_consumed_inputs(parser);
  const Tensor* slope = parser.constant(1);
  if (parser.opset >= 7 || slope == nullptr || slope->shape().rank() != 1) return;
  const s64 channels = slope->shape()[0];
  if (channels > 1) parser.set_input(1, slope->reshaped(Shape{channels, 1, 1}));
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  require_same_dtypes(inference);
  const Shape& x = inference.inputs[0].shape;
  if (broadcast_shapes(x, inference.inputs[1].shape) != x) {
    fail(Error::Code::invalid_model, "the slope {} does not broadcast to the input {}",
         to_string(inference.inputs[1]), to_string(inference.inputs[0]));
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  eval_binary(eval, []<class T>(T x, T slope) { return x < T{0} ? wrapping_mul(x, slope) : x; });
}

QuantizeResult quantize(const QuantizeRequest& request) {
  const Tensor* slope = request.graph.constant_input(request.node, 1);
  if (slope == nullptr || slope->elements() != 1) {
    return {.node = {}, .reject = "its slope is not one constant"};
  }
  const f64 alpha = FloatInput(view(*slope))[0];
  return quantize_table(request, [&](f64 x) { return x < 0.0 ? alpha * x : x; });
}

}  // namespace

extern constinit const OpDef kPRelu{.name = "PRelu",
                                    .inputs = {2, 2},
                                    .parse = parse,
                                    .infer = infer,
                                    .eval = eval,
                                    .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
