// SPDX-License-Identifier: Apache-2.0
// Elementwise a - b with broadcasting.
#include "ops/quantized/quantize_sum.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_binary(eval, [](auto a, auto b) { return wrapping_sub(a, b); });
}

QuantizeResult quantize_sub(const QuantizeRequest& request) { return quantize_sum(request, -1.0f); }

}  // namespace

extern constinit const OpDef kSub = arithmetic_pair("Sub", eval, quantize_sub);
}  // namespace octet
