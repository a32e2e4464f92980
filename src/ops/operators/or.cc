// SPDX-License-Identifier: Apache-2.0
// Elementwise logical or with broadcasting.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_logic(eval, [](bool a, bool b) { return a || b; });
}

}  // namespace

extern constinit const OpDef kOr = broadcast_pair("Or", infer_logic, eval, parse_legacy_broadcast);
}  // namespace octet
