// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization: each channel of each image of codes or reals on its own, as codes; scale and bias are real. Mean and
// variance of codes come from exact sums of codes, as QReduceMean's; those of reals are InstanceNormalization's, which is then quantized.
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/instance_norm.h"
#include "ops/shared/normalize.h"

namespace octet {
namespace {

enum : size_t { kX, kScale, kBias };

void infer(Inference& inference) {
  infer_code_rows(inference, true);
  check_instance_norm_parameters(inference);
}

CodeMoments moments_of(const ConstView& x, s64 first, s64 count) {
  CodeMoments moments{.count = count};
  for (s64 i = first; i < first + count; ++i) {
    const auto code = static_cast<s64>(table_index(code_at(x, static_cast<size_t>(i)), x.dtype));
    moments.sum += code;
    moments.squares += code * code;
  }
  return moments;
}

void eval_reals(const Eval& eval) {
  const Shape& shape = eval.inputs[kX].shape;
  const s64 count = dims_product(shape, 2, shape.rank());
  const f32 epsilon = attribute_of<&NormAttributes::epsilon>(eval.node);
  const FloatInput scale(eval, kScale), bias(eval, kBias);
  std::vector<f32> reals = dequantized_rows(eval);
  for (s64 first = 0; count > 0 && first < shape.elements(); first += count) {
    const s64 channel = first / count % shape[1];
    const Moments m = moments(reals.data() + first, count, epsilon);
    for (s64 i = first; i < first + count; ++i) {
      f32& real = reals[static_cast<size_t>(i)];
      real = normalize(real, m, scale[channel], bias[channel]);
    }
  }
  store_quantized_rows(eval, reals);
}

void eval(const Eval& eval) {
  if (eval.inputs[kX].dtype == Dtype::f32) return eval_reals(eval);
  const ConstView& x = eval.inputs[kX];
  const RowScales scales = row_scales(eval.node);
  const InstanceNorm norm{scales.x, scales.y, attribute_of<&NormAttributes::epsilon>(eval.node)};
  const Epilogue epilogue = epilogue_of(eval.node);
  const FloatInput scale(eval, kScale), bias(eval, kBias);
  const s64 count = dims_product(x.shape, 2, x.shape.rank());
  for (s64 first = 0; count > 0 && first < x.shape.elements(); first += count) {
    const s64 channel = first / count % x.shape[1];
    const CodeLine line =
        code_line(norm, moments_of(x, first, count), scale[channel], bias[channel]);
    for (s64 i = first; i < first + count; ++i) {
      const auto at = static_cast<size_t>(i);
      const auto code = static_cast<f32>(table_index(code_at(x, at), x.dtype));
      store_code(eval.outputs[0], at,
                 requantize(std::fmaf(code, line.slope, line.offset), epilogue.range));
    }
  }
}

}  // namespace

extern constinit const OpDef kQInstanceNormalization =
    on_codes("QInstanceNormalization", {3, 3}, infer, eval);
}  // namespace octet
