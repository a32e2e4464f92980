// SPDX-License-Identifier: Apache-2.0
// RandomUniformLike(x) {dtype, low, high, seed}: numbers between low and high, in the shape of x.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomUniformLike{.name = "RandomUniformLike",
                                                .domain = "",
                                                .inputs = {1, 1},
                                                .outputs = {1, 1},
                                                .parse = parse_random,
                                                .infer = infer_random_like,
                                                .eval = eval_random_uniform};
}  // namespace octet
