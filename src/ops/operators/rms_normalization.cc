// SPDX-License-Identifier: Apache-2.0
// RMSNormalization over the axes from `axis` on.
#include "core/check.h"
#include "graph/op_def.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/normalize.h"

namespace octet {
namespace {

int first_axis(const Node& node, const Shape& shape) {
  return normalize_axis(attribute_of<&RowNormAttributes::axis>(node), shape.rank());
}

void infer(Inference& inference) {
  const Shape& x = inference.inputs[0].shape;
  require_dtype(inference, 0, DtypeClass::real);
  require_dtype(inference, 1, DtypeClass::real);
  attribute_of<&RowNormAttributes::epsilon>(inference.node);
  const s64 count = dims_product(x, first_axis(inference.node, x), x.rank());
  if (inference.inputs[1].shape.elements() != count) {
    fail(Error::Code::unsupported,
         "the scale is {}, expected {} values, one for each normalized "
         "element of {}",
         to_string(inference.inputs[1]), count, to_string(x));
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const s64 count = dims_product(shape, first_axis(eval.node, shape), shape.rank());
  const f32 epsilon = attribute_of<&RowNormAttributes::epsilon>(eval.node);
  const FloatInput x(eval, 0), scale(eval, 1);
  const FloatOutput y(eval.outputs[0]);
  const s64 rows = count == 0 ? 0 : shape.elements() / count;
  for (s64 row = 0; row < rows; ++row) {
    const f32* src = x.data() + row * count;
    const f32 inverse = inverse_rms(src, count, epsilon);
    for (s64 i = 0; i < count; ++i) y[row * count + i] = src[i] * inverse * scale[i];
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kRMSNormalization{
    .name = "RMSNormalization", .inputs = {2, 2}, .infer = infer, .eval = eval};
}  // namespace octet
