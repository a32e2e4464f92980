// SPDX-License-Identifier: Apache-2.0
// What Softmax, LogSoftmax and Hardmax normalize over. Attribute `flatten` = 1 is the meaning before opset 13: all axes from
// `axis` on form one row.
#pragma once

#include "core/types.h"
#include "graph/op_def.h"
#include "ops/shared/float_io.h"

namespace octet {

class NodeParser;

// outer * inner rows of `count` elements, `inner` apart.
struct SoftmaxGeometry {
  s64 outer = 1;
  s64 count = 1;
  s64 inner = 1;
};

SoftmaxGeometry softmax_geometry(const Node& node, const Shape& shape);

// y = exp(x - max(x)) / sum, of `count` elements `step` apart; maximum and sum in 16 lanes.
void softmax_row(const f32* x, f32* y, s64 count, s64 step);

// f(x, y, count, step) for every row.
template <class F>
void eval_rows(const Eval& eval, const F& f) {
  if (eval.inputs[0].shape.elements() == 0) return;
  const SoftmaxGeometry rows = softmax_geometry(eval.node, eval.inputs[0].shape);
  const FloatInput x(eval, 0);
  const FloatOutput y(eval.outputs[0]);
  for (s64 row = 0; row < rows.outer * rows.inner; ++row) {
    const s64 first = row / rows.inner * rows.count * rows.inner + row % rows.inner;
    f(x.data() + first, y.data() + first, rows.count, rows.inner);
  }
  y.store();
}

void parse_softmax(NodeParser& parser);
void infer_softmax(Inference& inference);

}  // namespace octet
