// SPDX-License-Identifier: Apache-2.0
// Elementwise a ^ b of the bits of integers, with broadcasting.
#include "ops/shared/bitwise.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_bitwise(eval, [](auto a, auto b) { return a ^ b; });
}

}  // namespace

extern constinit const OpDef kBitwiseXor{.name = "BitwiseXor",
                                         .domain = "",
                                         .inputs = {2, 2},
                                         .outputs = {1, 1},
                                         .infer = infer_bitwise,
                                         .eval = eval};
}  // namespace octet
