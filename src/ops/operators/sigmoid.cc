// SPDX-License-Identifier: Apache-2.0
// 1 / (1 + e^-x).
#include <cmath>

#include "core/math.h"
#include "graph/op_def.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return 1.0 / (1.0 + std::exp(-x)); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return math_sigmoid(x); });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kSigmoid{.name = "Sigmoid",
                                      .domain = "",
                                      .inputs = {1, 1},
                                      .outputs = {1, 1},
                                      .parse = drop_consumed_inputs,
                                      .infer = infer_elementwise_float,
                                      .eval = eval,
                                      .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
