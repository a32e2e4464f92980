// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization: each channel of each image on its own.
#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"
#include "ops/shared/axes.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"
#include "ops/shared/instance_norm.h"
#include "ops/shared/normalize.h"

namespace octet {

extern const OpDef kQInstanceNormalization;

void check_instance_norm_parameters(const Inference& inference) {
  const Shape& x = inference.inputs[0].shape;
  attribute_of<&NormAttributes::epsilon>(inference.node);
  if (x.rank() < 2) {
    fail(Error::Code::invalid_model, "input {} has no channels; expected [N, C, ...]",
         to_string(x));
  }
  for (size_t i = 1; i < 3; ++i) {
    require_dtype(inference, i, DtypeClass::real);
    if (inference.inputs[i].shape == Shape{x[1]}) continue;
    fail(Error::Code::invalid_model,
         "scale or bias is {}, expected one value for each of {} channels",
         to_string(inference.inputs[i]), x[1]);
  }
}

namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  require_same_dtypes(inference);
  check_instance_norm_parameters(inference);
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const s64 count = dims_product(shape, 2, shape.rank());
  const f32 epsilon = attribute_of<&NormAttributes::epsilon>(eval.node);
  const FloatInput x(eval, 0), scale(eval, 1), bias(eval, 2);
  const FloatOutput y(eval.outputs[0]);
  const s64 planes = count == 0 ? 0 : shape.elements() / count;
  for (s64 plane = 0; plane < planes; ++plane) {
    const f32* src = x.data() + plane * count;
    const s64 channel = plane % shape[1];
    const Moments m = moments(src, count, epsilon);
    for (s64 i = 0; i < count; ++i) {
      y[plane * count + i] = normalize(src[i], m, scale[channel], bias[channel]);
    }
  }
  y.store();
}

// Calibration asks what codes of its input cost (src/precision/level_channels.h).
QuantizeResult quantize_instance_norm(const QuantizeRequest& request) {
  // Of a constant channel it divides by zero, and integers have no NaN.
  if (attribute_of<&NormAttributes::epsilon>(request.node) <= 0.0f)
    return {.node = {}, .reject = "its epsilon is 0"};
  return code_rows_node(request, "QInstanceNormalization");
}

constexpr OpTraits kTraits{.rows_as_codes = &kQInstanceNormalization};

}  // namespace

extern constinit const OpDef kInstanceNormalization{
    .name = "InstanceNormalization",
    .inputs = {3, 3},
    .parse = drop_consumed_inputs,
    .infer = infer,
    .eval = eval,
    .quant = {.kind = QuantKind::arithmetic, .quantize = quantize_instance_norm},
    .traits = &kTraits};
}  // namespace octet
