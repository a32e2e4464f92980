// SPDX-License-Identifier: Apache-2.0
// The CUDA backend's answers to "can you run this node?", each by itself.
#pragma once

#include "plan/offer.h"

namespace octet::cuda {

#define LOWERING(op, function, f32) Offer function(const LowerRequest& request);
#include "backends/cuda/lower/lowerings.def"
#undef LOWERING

}  // namespace octet::cuda
