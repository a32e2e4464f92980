// SPDX-License-Identifier: Apache-2.0
// What can be proven of an epilogue before it runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "backends/cpu/kernels/codes/epilogue_args.h"

namespace octet {

// No sum times its multiplier, with the residual added, leaves the range of s32, nor does the sum of two codes, so nothing
// needs to be cut before rounding.
inline bool epilogue_bounded(std::span<const f32> multipliers, const EpilogueArgs& e) {
  const bool small = std::ranges::all_of(multipliers, [](f32 m) { return std::fabs(m) <= 0.25f; });
  return small && std::fabs(e.sum.own_multiplier) <= 1048576.0f &&
         std::fabs(e.residual_multiplier) <= 1048576.0f && (!e.leaky || std::fabs(e.alpha) <= 1.0f);
}

}  // namespace octet
