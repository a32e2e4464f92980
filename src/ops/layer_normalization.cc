// SPDX-License-Identifier: Apache-2.0
// LayerNormalization over the axes from `axis` on; optional outputs are the mean and the inverse standard deviation.
#include "core/check.h"
#include "graph/op_def.h"
#include "ops/axes.h"
#include "ops/float_io.h"
#include "ops/normalize.h"

namespace octet {
namespace {

enum : size_t { kX, kScale, kBias };

int first_axis(const Node& node, const Shape& shape) {
  return normalize_axis(node.attrs.i("axis", -1), shape.rank());
}

void infer(Inference& inference) {
  const Shape& x = inference.inputs[kX].shape;
  require_dtype(inference, kX, DtypeClass::real);
  const int axis = first_axis(inference.node, x);
  inference.node.attrs.f("epsilon", 1e-5f);
  const s64 count = dims_product(x, axis, x.rank());
  for (size_t i : {kScale, kBias}) {
    if (!inference.has_input(i)) continue;
    require_dtype(inference, i, DtypeClass::real);
    if (inference.inputs[i].shape.elements() == count) continue;
    fail(Error::Code::unsupported,
         "scale or bias is {}, expected {} values, one for each "
         "normalized element of {}",
         to_string(inference.inputs[i]), count, to_string(x));
  }
  inference.same_as_input(kX);
  Shape statistics = x;
  for (int i = axis; i < x.rank(); ++i) statistics[i] = 1;
  for (size_t i = 1; i < inference.node.outputs.size(); ++i) {
    inference.output(Dtype::f32, statistics);
  }
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[kX].shape;
  const int axis = first_axis(eval.node, shape);
  const s64 count = dims_product(shape, axis, shape.rank());
  const f32 epsilon = eval.node.attrs.f("epsilon", 1e-5f);
  const FloatInput x(eval, kX), scale(eval, kScale), bias(eval, kBias);
  const FloatOutput y(eval.outputs[0]);
  const s64 rows = count == 0 ? 0 : shape.elements() / count;
  for (s64 row = 0; row < rows; ++row) {
    const f32* src = x.data() + row * count;
    f32* dst = y.data() + row * count;
    const Moments m = moments(src, count, epsilon);
    for (s64 i = 0; i < count; ++i) dst[i] = normalize(src[i], m, scale[i], bias ? bias[i] : 0.0f);
    if (eval.outputs.size() > 1) eval.outputs[1].as<f32>()[static_cast<size_t>(row)] = m.mean;
    if (eval.outputs.size() > 2)
      eval.outputs[2].as<f32>()[static_cast<size_t>(row)] = m.inverse_std;
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kLayerNormalization{.name = "LayerNormalization",
                                                 .domain = "",
                                                 .inputs = {2, 3},
                                                 .outputs = {1, 3},
                                                 .infer = infer,
                                                 .eval = eval};
}  // namespace octet
