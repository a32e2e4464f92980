// SPDX-License-Identifier: Apache-2.0
// Softmax: e = exp(x - max(x)), y = e / sum(e); maximum and sum in 16 lanes.
#include "ops/shared/softmax.h"

#include "core/math.h"
#include "core/reduce.h"
#include "graph/op_traits.h"
#include "ops/quantized/code_rows.h"

namespace octet {

extern const OpDef kQSoftmax;

void softmax_row(const f32* x, f32* y, s64 count, s64 step) {
  const f32 max = lane_max(count, [&](s64 i) { return x[i * step]; });
  for (s64 i = 0; i < count; ++i) y[i * step] = math_exp(x[i * step] - max);
  const f32 sum = lane_sum(count, [&](s64 i) { return y[i * step]; });
  for (s64 i = 0; i < count; ++i) y[i * step] /= sum;
}

namespace {

void eval(const Eval& eval) { eval_rows(eval, softmax_row); }

QuantizeResult quantize_softmax(const QuantizeRequest& request) {
  if (!rows_lie_last(request.graph, request.node))
    return {.node = {},
            .reject = "rows of codes lie along the last axis: reals of others are faster"};
  return code_rows_node(request, "QSoftmax");
}

constexpr OpTraits kTraits{.rows_as_codes = &kQSoftmax};

}  // namespace

extern constinit const OpDef kSoftmax{.name = "Softmax",
                                      .parse = parse_softmax,
                                      .infer = infer_softmax,
                                      .eval = eval,
                                      .quant = {.quantize = quantize_softmax},
                                      .traits = &kTraits};
}  // namespace octet
