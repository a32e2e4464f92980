// SPDX-License-Identifier: Apache-2.0
// x / (1 + |x|).
#include <cmath>

#include "graph/op_def.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return x / (1.0 + std::fabs(x)); }

void eval(const Eval& eval) {
  eval_elementwise(eval, [](f32 x) { return x / (1.0f + std::fabs(x)); });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kSoftsign{.name = "Softsign",
                                       .domain = "",
                                       .inputs = {1, 1},
                                       .outputs = {1, 1},
                                       .parse = drop_consumed_inputs,
                                       .infer = infer_elementwise_float,
                                       .eval = eval,
                                       .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
