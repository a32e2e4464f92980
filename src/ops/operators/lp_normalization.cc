// SPDX-License-Identifier: Apache-2.0
// LpNormalization: x / (sum |x|^p)^(1/p) along attribute axis, p = 1 or 2; a row of zeros stays zero.
#include <cmath>

#include "core/check.h"
#include "core/reduce.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const s64 p = attribute_of<&LpNormAttributes::p>(inference.node);
  if (p != 1 && p != 2) {
    fail(Error::Code::invalid_model, "attribute 'p' is {}, expected 1 or 2", p);
  }
  infer_softmax(inference);
}

void eval(const Eval& eval) {
  if (eval.inputs[0].shape.elements() == 0) return;
  const SoftmaxGeometry rows = softmax_geometry(eval.node, eval.inputs[0].shape);
  const bool squares = attribute_of<&LpNormAttributes::p>(eval.node) == 2;
  const FloatInput x(eval, 0);
  const FloatOutput y(eval.outputs[0]);
  for (s64 row = 0; row < rows.outer * rows.inner; ++row) {
    const s64 first = row / rows.inner * rows.count * rows.inner + row % rows.inner;
    const f32 sum = lane_sum(rows.count, [&](s64 i) {
      const f32 value = x[first + i * rows.inner];
      return squares ? value * value : std::fabs(value);
    });
    const f32 norm = squares ? std::sqrt(sum) : sum;
    for (s64 i = first; i < first + rows.count * rows.inner; i += rows.inner) {
      y[i] = norm == 0.0f ? 0.0f : x[i] / norm;
    }
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kLpNormalization{
    .name = "LpNormalization", .infer = infer, .eval = eval};
}  // namespace octet
