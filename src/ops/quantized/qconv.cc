// SPDX-License-Identifier: Apache-2.0
// QConv: docs/numerics.md sections 3 and 4. Weights are s8, or a sum of two s8 as s16 where it is depthwise. Inputs x, w, bias, multiplier, residual, table, addend.
#include "core/check.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/shared/conv.h"
#include "ops/shared/conv_patch.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[kProductX];
  const TensorType& weights = inference.inputs[kProductWeights];
  const ConvGeometry geometry = conv_geometry(inference.node, x.shape, weights.shape);
  const bool depthwise = geometry.depthwise() && weights.dtype == Dtype::s16;
  if (!is_code(x.dtype) || (weights.dtype != Dtype::s8 && !depthwise)) {
    fail(Error::Code::invalid_model,
         "input {} and weights {}, expected u8 or s8 and s8, or s16 where it is depthwise",
         to_string(x), to_string(weights));
  }
  infer_product_epilogue(inference, geometry.output_shape(), geometry.out_channels);
}

void eval(const Eval& eval) {
  const ConstView& x = eval.inputs[kProductX];
  const ConstView& weights = eval.inputs[kProductWeights];
  const ProductEpilogue epilogue(eval);
  const auto x_codes = centered_codes(x, epilogue.attributes().zero_point(kProductX));
  const auto w_codes = centered_codes(weights, epilogue.attributes().zero_point(kProductWeights));
  convolve(conv_geometry(eval.node, x.shape, weights.shape), x_codes.data(), w_codes.data(),
           [&](s64 index, s64 channel, s64 acc) { epilogue.store(index, channel, wrapped(acc)); });
}

constexpr OpTraits kTraits{.macs = convolution_macs,
                           .product_epilogue = true,
                           .codes = CodeMeaning::attributes,
                           .verify = verify_zero_points};

}  // namespace

extern constinit const OpDef kQConv = on_codes("QConv", {2, 7}, infer, eval, &kTraits);
}  // namespace octet
