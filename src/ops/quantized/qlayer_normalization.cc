// SPDX-License-Identifier: Apache-2.0
// QLayerNormalization: LayerNormalization of codes or reals, as codes; scale and bias are real.
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/layer_norm.h"

namespace octet {
namespace {

enum : size_t { kX, kScale, kBias };

void infer(Inference& inference) {
  infer_code_rows(inference, true);
  check_layer_norm_parameters(inference);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[kX].shape;
  const s64 count = dims_product(shape, layer_norm_axis(eval.node, shape), shape.rank());
  const FloatInput scale(eval, kScale), bias(eval, kBias);
  std::vector<f32> reals = dequantized_rows(eval);
  const LayerNormRows rows{reals.data(), reals.data(),
                           scale.data(), bias ? bias.data() : nullptr,
                           count,        attribute_of<&RowNormAttributes::epsilon>(eval.node)};
  for (s64 row = 0; count > 0 && row < shape.elements() / count; ++row) {
    layer_norm_row(rows, row, nullptr, nullptr);
  }
  store_quantized_rows(eval, reals);
}

}  // namespace

extern constinit const OpDef kQLayerNormalization =
    on_codes("QLayerNormalization", {2, 3}, infer, eval);
}  // namespace octet
