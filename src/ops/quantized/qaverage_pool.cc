// SPDX-License-Identifier: Apache-2.0
// QAveragePool: s32 sum of x - zp_x, one multiply that depends on the number of elements in the window.
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/quantized/mean_scales.h"
#include "ops/shared/pool.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& x = input_of_codes(inference);
  mean_scales(inference.node);
  infer_code_output(inference, pool_geometry(inference.node, x.shape).output_shape());
}

void eval(const Eval& eval) {
  const PoolGeometry geometry = pool_geometry(eval.node, eval.inputs[0].shape);
  const auto& h = geometry.window.axes[1];
  const auto& w = geometry.window.axes[2];
  const Epilogue epilogue = epilogue_of(eval.node);
  const MeanScales scales = mean_scales(eval.node);
  const auto codes = centered_codes(eval.inputs[0], epilogue.zero_point(0));
  for_each_window(geometry, [&](const PoolWindow& window) {
    const s16* plane = codes.data() + window.plane * geometry.window.in_elements();
    s64 sum = 0;
    for_each_tap(geometry.window, window,
                 [&](s64 z, s64 y, s64 x) { sum += plane[(z * h.in + y) * w.in + x]; });
    const f32 multiplier = window.divisor == 0 ? 0.0f : scales.multiplier(window.divisor);
    const s64 output = window.plane * geometry.window.out_elements() + window.output;
    store_code(eval.outputs[0], static_cast<size_t>(output),
               to_code(epilogue, static_cast<f32>(sum) * multiplier));
  });
}

constexpr OpTraits kTraits{
    .work = pool_work, .codes = CodeMeaning::attributes, .verify = verify_zero_points};

}  // namespace

extern constinit const OpDef kQAveragePool =
    on_codes("QAveragePool", {1, 1}, infer, eval, &kTraits);
}  // namespace octet
