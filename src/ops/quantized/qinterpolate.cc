// SPDX-License-Identifier: Apache-2.0
// QInterpolate: docs/numerics.md section 5. Inputs x, roi, scales, sizes, as Interpolate has them.
#include <vector>

#include "ops/attributes/sampling.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/interpolate.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  input_of_codes(inference);
  infer_code_output(inference, resized_shape(inference));
}

void eval(const Eval& eval) {
  if (eval.outputs[0].shape.elements() == 0) return;
  const Shape& shape = eval.inputs[0].shape;
  const ResizeGeometry geometry = resize_geometry(eval.node, shape, resize_parameters(eval));
  require_shape(eval.outputs[0].shape, geometry.output);
  const Epilogue epilogue = epilogue_of(eval.node);
  const f32 multiplier = attribute_of<&QInterpolateAttributes::multiplier>(eval.node);
  const auto codes = centered_codes(eval.inputs[0], epilogue.zero_point(0));
  const std::vector<f32> values = interpolate(geometry, shape, {codes.begin(), codes.end()});
  for (size_t i = 0; i < values.size(); ++i)
    store_code(eval.outputs[0], i, to_code(epilogue, values[i] * multiplier));
}

constexpr OpTraits kTraits{
    .work = resize_work, .codes = CodeMeaning::attributes, .verify = verify_zero_points};

}  // namespace

extern constinit const OpDef kQInterpolate =
    on_codes("QInterpolate", {1, 4}, infer, eval, &kTraits);
}  // namespace octet
