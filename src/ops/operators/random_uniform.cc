// SPDX-License-Identifier: Apache-2.0
// RandomUniform {shape, dtype, low, high, seed}: numbers between low and high.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomUniform =
    random_numbers("RandomUniform", {0, 0}, infer_random, eval_random_uniform);
}  // namespace octet
