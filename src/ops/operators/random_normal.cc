// SPDX-License-Identifier: Apache-2.0
// RandomNormal {shape, dtype, mean, scale, seed}: normally distributed numbers.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomNormal{.name = "RandomNormal",
                                           .domain = "",
                                           .inputs = {0, 0},
                                           .outputs = {1, 1},
                                           .parse = parse_random,
                                           .infer = infer_random,
                                           .eval = eval_random_normal};
}  // namespace octet
