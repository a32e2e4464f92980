// SPDX-License-Identifier: Apache-2.0
// Elementwise a < b with broadcasting.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_compare(eval, [](auto a, auto b) { return a < b; });
}

}  // namespace

extern constinit const OpDef kLess =
    broadcast_pair("Less", infer_compare, eval, parse_legacy_broadcast);
}  // namespace octet
