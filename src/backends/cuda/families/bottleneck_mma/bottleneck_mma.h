// SPDX-License-Identifier: Apache-2.0
// Bottlenecks by mma.sync, for chips without warpgroups.
#pragma once

#include "backends/cuda/families/bottleneck/bottleneck.h"

namespace octet::cuda::bottleneck_mma {

Offer offer(const LowerRequest& request, const bottleneck::Bottleneck& block);

}  // namespace octet::cuda::bottleneck_mma
