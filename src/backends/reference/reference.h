// SPDX-License-Identifier: Apache-2.0
// Every operator through its scalar reference: the fallback of each backend, and by itself the oracle.
#pragma once

#include "plan/backend.h"

namespace octet {

Candidate reference_candidate(const LowerRequest& request);
Candidate reference_convert(const TensorType& type, Layout from, Layout to, const Target& target);

const Backend& reference_backend();

}  // namespace octet
