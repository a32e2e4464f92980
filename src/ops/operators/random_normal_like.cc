// SPDX-License-Identifier: Apache-2.0
// RandomNormalLike(x) {dtype, mean, scale, seed}: normally distributed numbers in the shape of x.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomNormalLike{.name = "RandomNormalLike",
                                               .domain = "",
                                               .inputs = {1, 1},
                                               .outputs = {1, 1},
                                               .parse = parse_random,
                                               .infer = infer_random_like,
                                               .eval = eval_random_normal};
}  // namespace octet
