// SPDX-License-Identifier: Apache-2.0
// RandomNormalLike(x) {dtype, mean, scale, seed}: normally distributed numbers in the shape of x.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomNormalLike =
    random_numbers("RandomNormalLike", {1, 1}, infer_random_like, eval_random_normal);
}  // namespace octet
