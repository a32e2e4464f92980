// SPDX-License-Identifier: Apache-2.0
// What the tensor memory accelerator knows of a tensor.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

struct alignas(64) TensorMap {
  u64 opaque[16];
};

}  // namespace octet::cuda
