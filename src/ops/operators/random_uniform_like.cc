// SPDX-License-Identifier: Apache-2.0
// RandomUniformLike(x) {dtype, low, high, seed}: numbers between low and high, in the shape of x.
#include "ops/shared/random.h"

namespace octet {

extern constinit const OpDef kRandomUniformLike =
    random_numbers("RandomUniformLike", {1, 1}, infer_random_like, eval_random_uniform);
}  // namespace octet
