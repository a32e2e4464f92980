// SPDX-License-Identifier: Apache-2.0
// AveragePool: the taps inside the input, added in row-major order, divided by their count.
#include "ops/attributes/reduction.h"
#include "ops/attributes/window.h"
#include "ops/quantized/quantize_node.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/pool.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  const PoolGeometry geometry = pool_geometry(eval.node, eval.inputs[0].shape);
  const auto& h = geometry.window.axes[1];
  const auto& w = geometry.window.axes[2];
  const FloatInput src(eval, 0);
  const FloatOutput dst(eval.outputs[0]);
  for_each_window(geometry, [&](const PoolWindow& window) {
    const f32* plane = src.data() + window.plane * geometry.window.in_elements();
    f32 sum = 0.0f;
    for_each_tap(geometry.window, window,
                 [&](s64 z, s64 y, s64 x) { sum += plane[(z * h.in + y) * w.in + x]; });
    dst[window.plane * geometry.window.out_elements() + window.output] =
        window.divisor == 0 ? 0.0f : sum / static_cast<f32>(window.divisor);
  });
  dst.store();
}

QuantizeResult quantize(const QuantizeRequest& request) {
  QuantizeResult result = code_node(request, "QAveragePool", 1);
  if (!result.reject.empty()) return result;
  copy_attributes<PoolAttributes>(request.node.attrs, result.node.attrs);
  set_attribute<&CodeScalesAttributes::scales>(
      result.node.attrs, {request.inputs[0].scalar_scale(), request.output.scale});
  return result;
}

constexpr OpTraits kTraits{.work = pool_work};

}  // namespace

extern constinit const OpDef kAveragePool{
    .name = "AveragePool",
    .infer = infer_real_pool,
    .eval = eval,
    .quant = {.kind = QuantKind::arithmetic, .quantize = quantize},
    .traits = &kTraits};
}  // namespace octet
