// SPDX-License-Identifier: Apache-2.0
// LayerNormalization over the axes from `axis` on; optional outputs are the mean and the inverse standard deviation.
#include "core/check.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/layer_norm.h"
#include "ops/shared/normalize.h"

namespace octet {

extern const OpDef kQLayerNormalization;

namespace {

enum : size_t { kX, kScale, kBias };

}  // namespace

int layer_norm_axis(const Node& node, const Shape& x) {
  return normalize_axis(attribute_of<&RowNormAttributes::axis>(node), x.rank());
}

void check_layer_norm_parameters(const Inference& inference) {
  const Shape& x = inference.inputs[kX].shape;
  attribute_of<&RowNormAttributes::epsilon>(inference.node);
  const s64 count = dims_product(x, layer_norm_axis(inference.node, x), x.rank());
  for (size_t i : {kScale, kBias}) {
    if (!inference.has_input(i)) continue;
    require_dtype(inference, i, DtypeClass::real);
    if (inference.inputs[i].shape.elements() == count) continue;
    fail(Error::Code::unsupported,
         "scale or bias is {}, expected {} values, one for each "
         "normalized element of {}",
         to_string(inference.inputs[i]), count, to_string(x));
  }
}

void layer_norm_row(const LayerNormRows& rows, s64 row, f32* mean, f32* inverse_std) {
  const f32* src = rows.x + row * rows.count;
  f32* dst = rows.y + row * rows.count;
  const Moments m = moments(src, rows.count, rows.epsilon);
  for (s64 i = 0; i < rows.count; ++i) {
    dst[i] = normalize(src[i], m, rows.scale[i], rows.bias != nullptr ? rows.bias[i] : 0.0f);
  }
  if (mean != nullptr) mean[row] = m.mean;
  if (inverse_std != nullptr) inverse_std[row] = m.inverse_std;
}

namespace {

void infer(Inference& inference) {
  const Shape& x = inference.inputs[kX].shape;
  require_dtype(inference, kX, DtypeClass::real);
  check_layer_norm_parameters(inference);
  inference.same_as_input(kX);
  Shape statistics = x;
  for (int i = layer_norm_axis(inference.node, x); i < x.rank(); ++i) statistics[i] = 1;
  for (size_t i = 1; i < inference.node.outputs.size(); ++i) {
    inference.output(Dtype::f32, statistics);
  }
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[kX].shape;
  const s64 count = dims_product(shape, layer_norm_axis(eval.node, shape), shape.rank());
  const FloatInput x(eval, kX), scale(eval, kScale), bias(eval, kBias);
  const FloatOutput y(eval.outputs[0]);
  const LayerNormRows rows{x.data(),     y.data(),
                           scale.data(), bias ? bias.data() : nullptr,
                           count,        attribute_of<&RowNormAttributes::epsilon>(eval.node)};
  const auto statistics = [&](size_t i) {
    return eval.outputs.size() > i ? eval.outputs[i].as<f32>().data() : nullptr;
  };
  for (s64 row = 0; count > 0 && row < shape.elements() / count; ++row) {
    layer_norm_row(rows, row, statistics(1), statistics(2));
  }
  y.store();
}

QuantizeResult quantize_layer_norm(const QuantizeRequest& request) {
  return code_rows_node(request, "QLayerNormalization");
}

constexpr OpTraits kTraits{.rows_as_codes = &kQLayerNormalization};

}  // namespace

extern constinit const OpDef kLayerNormalization{.name = "LayerNormalization",
                                                 .inputs = {2, 3},
                                                 .outputs = {1, 3},
                                                 .infer = infer,
                                                 .eval = eval,
                                                 .quant = {.quantize = quantize_layer_norm},
                                                 .traits = &kTraits};
}  // namespace octet
