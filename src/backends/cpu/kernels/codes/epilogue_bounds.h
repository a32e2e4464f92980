// SPDX-License-Identifier: Apache-2.0
// What can be proven of an epilogue before it runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "ops/shared/conv.h"

namespace octet {

// What no sum of products of codes and s8 weights passes, with its bias.
inline f64 largest_sum(const ConvGeometry& g, std::span<const s32> bias) {
  const s64 products = g.in_channels_per_group() * g.window.kernel_elements();
  f64 most = 0;
  for (const s32 b : bias) most = std::max(most, std::fabs(f64{1} * b));
  return std::min(0x1p31, most + static_cast<f64>(products) * 255 * 128);
}

// No sum (up to `largest`) times its multiplier, with the residual added, leaves the range of s32, nor does the sum of two codes, so nothing
// needs to be cut before rounding.
inline bool epilogue_bounded(std::span<const f32> multipliers, const EpilogueArgs& e,
                             f64 largest = 0x1p31) {
  const bool small =
      std::ranges::all_of(multipliers, [&](f32 m) { return std::fabs(m) * largest <= 0x1p29; });
  return small && std::fabs(e.sum.own_multiplier) <= 1048576.0f &&
         std::fabs(e.residual_multiplier) <= 1048576.0f && (!e.leaky || std::fabs(e.alpha) <= 1.0f);
}

}  // namespace octet
