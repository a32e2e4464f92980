// SPDX-License-Identifier: Apache-2.0
// RandomNormal {shape, dtype, mean, scale, seed}: normally distributed numbers.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomNormal =
    random_numbers("RandomNormal", {0, 0}, infer_random, eval_random_normal);
}  // namespace octet
