// SPDX-License-Identifier: Apache-2.0
// Elementwise a ^ b of the bits of integers, with broadcasting.
#include "ops/shared/bitwise.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_bitwise(eval, [](auto a, auto b) { return a ^ b; });
}

}  // namespace

extern constinit const OpDef kBitwiseXor = broadcast_pair("BitwiseXor", infer_bitwise, eval);
}  // namespace octet
