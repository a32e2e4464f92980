// SPDX-License-Identifier: Apache-2.0
// The CPU backend's answers to "can you run this node?": each by itself, and the table that lowerings.def expands to, best first.
#pragma once

#include <span>
#include <string_view>

#include "plan/offer.h"

namespace octet {

#define LOWERING(op, function, f32) Offer function(const LowerRequest& request);
#include "backends/cpu/lower/lowerings.def"
#undef LOWERING

std::span<const Lowering> cpu_lowerings();

// Of the operator, whether kernels of functions of one or two elements serve it.
bool is_elementwise(std::string_view op);

}  // namespace octet
