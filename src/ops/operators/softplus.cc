// SPDX-License-Identifier: Apache-2.0
// log(1 + e^x), in the form that does not overflow.
#include <algorithm>
#include <cmath>

#include "core/math.h"
#include "graph/op_def.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

// log(1 + t) for t in [0, 1]; the quotient undoes the rounding of 1 + t, so that a small t is not lost.
f32 log_one_plus(f32 t) {
  const f32 u = 1.0f + t;
  return u == 1.0f ? t : math_log(u) * (t / (u - 1.0f));
}

void eval(const Eval& eval) {
  eval_elementwise(eval,
                   [](f32 x) { return std::max(x, 0.0f) + log_one_plus(math_exp(-std::fabs(x))); });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kSoftplus{.name = "Softplus",
                                       .domain = "",
                                       .inputs = {1, 1},
                                       .outputs = {1, 1},
                                       .parse = drop_consumed_inputs,
                                       .infer = infer_elementwise_float,
                                       .eval = eval,
                                       .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
