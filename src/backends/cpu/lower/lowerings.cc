// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/lowerings.h"

namespace octet {

#define LOWERING(op, function, f32) Offer function(const LowerRequest& request);
#include "backends/cpu/lower/lowerings.def"
#undef LOWERING

namespace {

constexpr Lowering kLowerings[] = {
#define LOWERING(op, function, f32) {op, #function, function, f32},
#include "backends/cpu/lower/lowerings.def"
#undef LOWERING
};

}  // namespace

std::span<const Lowering> cpu_lowerings() { return kLowerings; }

}  // namespace octet
