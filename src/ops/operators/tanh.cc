// SPDX-License-Identifier: Apache-2.0
// Hyperbolic tangent.
#include <cmath>

#include "core/math.h"
#include "graph/op_def.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return std::tanh(x); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return math_tanh(x); });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kTanh{.name = "Tanh",
                                   .domain = "",
                                   .inputs = {1, 1},
                                   .outputs = {1, 1},
                                   .parse = drop_consumed_inputs,
                                   .infer = infer_elementwise_float,
                                   .eval = eval,
                                   .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
