// SPDX-License-Identifier: Apache-2.0
// The step that the planner puts between a producer and a consumer that want different layouts.
#pragma once

#include "plan/offer.h"

namespace octet {

Candidate cpu_convert(const TensorType& type, Layout from, Layout to, const Target& target);

}  // namespace octet
