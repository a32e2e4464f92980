// SPDX-License-Identifier: Apache-2.0
// Changes of layout within a GPU's memory.
#pragma once

#include "plan/backend.h"

namespace octet::cuda {

Candidate cuda_convert(const TensorType& type, Layout from, Layout to, const Target& target);

}  // namespace octet::cuda
