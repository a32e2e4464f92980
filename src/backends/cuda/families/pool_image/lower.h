// SPDX-License-Identifier: Apache-2.0
// MaxPool of codes by images in shared memory.
#pragma once

#include "backends/cuda/families/pool/pool.h"

namespace octet::cuda {

// Whether pixels are read more often than an image is brought to shared memory and back.
bool fits_pool_image(const PoolStep& step);
Candidate pool_image_candidate(const LowerRequest& request, const PoolStep& step);

}  // namespace octet::cuda
