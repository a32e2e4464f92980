// SPDX-License-Identifier: Apache-2.0
// The CPU backend's answers to "can you run this node?": the table that lowerings.def expands to, best first.
#pragma once

#include <span>

#include "plan/offer.h"

namespace octet {

std::span<const Lowering> cpu_lowerings();

}  // namespace octet
