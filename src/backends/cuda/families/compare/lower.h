// SPDX-License-Identifier: Apache-2.0
// Backend::compare.
#pragma once

#include "plan/offer.h"

namespace octet::cuda {

Candidate cuda_compare(s64 bytes, const Target& target);

}  // namespace octet::cuda
