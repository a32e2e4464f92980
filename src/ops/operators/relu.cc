// SPDX-License-Identifier: Apache-2.0
// 0 where x is below it, else x, of any numeric type: NaN passes.
#include "graph/op_def.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

f64 real(f64 x, const Node&) { return x > 0.0 ? x : 0.0; }

void eval(const Eval& eval) {
  eval_unary(eval, []<class T>(T x) { return x < T{0} ? T{0} : x; });
}

QuantizeResult quantize(const QuantizeRequest& request) { return quantize_table(request, real); }

}  // namespace

extern constinit const OpDef kRelu{.name = "Relu",
                                   .parse = drop_consumed_inputs,
                                   .infer = infer_numeric,
                                   .eval = eval,
                                   .quant = {.kind = QuantKind::table, .quantize = quantize}};
}  // namespace octet
