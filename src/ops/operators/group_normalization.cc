// SPDX-License-Identifier: Apache-2.0
// GroupNormalization: each group of channels of each image. Scale and bias have one value for each channel (opset 21) or
// for each group (opset 18); the number of values says which.
#include "core/check.h"
#include "graph/op_def.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/normalize.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const Shape& x = inference.inputs[0].shape;
  require_dtype(inference, 0, DtypeClass::real);
  const s64 groups = attribute_of<&GroupNormAttributes::num_groups>(inference.node);
  attribute_of<&GroupNormAttributes::epsilon>(inference.node);
  if (x.rank() < 2 || groups < 1 || x[1] % groups != 0) {
    fail(Error::Code::invalid_model,
         "attribute 'num_groups' is {}; it must divide the channels of {}", groups, to_string(x));
  }
  for (size_t i = 1; i < 3; ++i) {
    require_dtype(inference, i, DtypeClass::real);
    const s64 count = inference.inputs[i].shape.elements();
    if (count == x[1] || count == groups) continue;
    fail(Error::Code::invalid_model,
         "scale or bias is {}, expected one value for each of {} channels",
         to_string(inference.inputs[i]), x[1]);
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  if (shape.elements() == 0) return;
  const s64 groups = attribute_of<&GroupNormAttributes::num_groups>(eval.node);
  const s64 pixels = dims_product(shape, 2, shape.rank());
  const s64 count = shape[1] / groups * pixels;
  const f32 epsilon = attribute_of<&GroupNormAttributes::epsilon>(eval.node);
  const FloatInput x(eval, 0), scale(eval, 1), bias(eval, 2);
  const FloatOutput y(eval.outputs[0]);
  const s64 scale_step = shape[1] / std::ssize(scale.values());
  const s64 bias_step = shape[1] / std::ssize(bias.values());
  for (s64 first = 0; first < shape.elements(); first += count) {
    const Moments m = moments(x.data() + first, count, epsilon);
    for (s64 i = first; i < first + count; ++i) {
      const s64 channel = i / pixels % shape[1];
      y[i] = normalize(x[i], m, scale[channel / scale_step], bias[channel / bias_step]);
    }
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kGroupNormalization{
    .name = "GroupNormalization", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
