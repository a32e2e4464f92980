// SPDX-License-Identifier: Apache-2.0
// Elementwise a - b with broadcasting.
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/quantized/quantize_sum.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_binary(eval, [](auto a, auto b) { return wrapping_sub(a, b); });
}

QuantizeResult quantize_sub(const QuantizeRequest& request) { return quantize_sum(request, -1.0f); }

constexpr OpTraits kTraits{.elementwise = true};

}  // namespace

extern constinit const OpDef kSub{
    .name = "Sub",
    .domain = "",
    .inputs = {2, 2},
    .outputs = {1, 1},
    .parse = parse_legacy_broadcast,
    .infer = infer_numeric_broadcast,
    .eval = eval,
    .quant = {.kind = QuantKind::arithmetic, .quantize = quantize_sub},
    .traits = &kTraits};
}  // namespace octet
