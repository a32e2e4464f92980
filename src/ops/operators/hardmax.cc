// SPDX-License-Identifier: Apache-2.0
// Hardmax: 1 at the first maximum of each row, which NaN is, along attribute axis, 0 elsewhere.
#include "ops/shared/float_io.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  if (eval.inputs[0].shape.elements() == 0) return;
  const SoftmaxGeometry rows = softmax_geometry(eval.node, eval.inputs[0].shape);
  const FloatInput x(eval, 0);
  const FloatOutput y(eval.outputs[0]);
  for (s64 row = 0; row < rows.outer * rows.inner; ++row) {
    const s64 first = row / rows.inner * rows.count * rows.inner + row % rows.inner;
    s64 best = 0;
    for (s64 i = 0; i < rows.count; ++i) {
      const f32 value = x[first + i * rows.inner], most = x[first + best * rows.inner];
      if (value > most || (value != value && most == most)) best = i;
    }
    for (s64 i = 0; i < rows.count; ++i) y[first + i * rows.inner] = i == best ? 1.0f : 0.0f;
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kHardmax{.name = "Hardmax",
                                      .domain = "",
                                      .inputs = {1, 1},
                                      .outputs = {1, 1},
                                      .parse = parse_softmax,
                                      .infer = infer_softmax,
                                      .eval = eval};
}  // namespace octet
