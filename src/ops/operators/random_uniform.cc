// SPDX-License-Identifier: Apache-2.0
// RandomUniform {shape, dtype, low, high, seed}: numbers between low and high.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomUniform{.name = "RandomUniform",
                                            .domain = "",
                                            .inputs = {0, 0},
                                            .outputs = {1, 1},
                                            .parse = parse_random,
                                            .infer = infer_random,
                                            .eval = eval_random_uniform};
}  // namespace octet
