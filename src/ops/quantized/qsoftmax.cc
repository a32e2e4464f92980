// SPDX-License-Identifier: Apache-2.0
// QSoftmax: Softmax of codes or reals, as codes.
#include "ops/quantized/code_rows.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  infer_code_rows(inference, true);
  softmax_geometry(inference.node, inference.inputs[0].shape);
}

void eval(const Eval& eval) {
  if (eval.inputs[0].shape.elements() == 0) return;
  const SoftmaxGeometry rows = softmax_geometry(eval.node, eval.inputs[0].shape);
  std::vector<f32> reals = dequantized_rows(eval);
  for (s64 row = 0; row < rows.outer * rows.inner; ++row) {
    f32* first = reals.data() + row / rows.inner * rows.count * rows.inner + row % rows.inner;
    softmax_row(first, first, rows.count, rows.inner);
  }
  store_quantized_rows(eval, reals);
}

}  // namespace

extern constinit const OpDef kQSoftmax = on_codes("QSoftmax", {1, 1}, infer, eval);
}  // namespace octet
