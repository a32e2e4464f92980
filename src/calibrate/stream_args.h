// SPDX-License-Identifier: Apache-2.0
// What one pass over observed values finds. Included by instruction-set files.
#pragma once

#include <cstddef>

#include "arch/kernel.h"
#include "core/types.h"

namespace octet {

struct BlockFacts {
  s32 max_magnitude =
      0;  // as bits of a float; at or above those of infinity when something is not finite
  s32 min_key = INT32_MAX;  // keys order like the floats
  s32 max_key = INT32_MIN;
  s32 zeros = 0;
};

OCTET_X86_64(void, examine_avx2, const f32* values, size_t count, BlockFacts& facts);
// Indices of the bins of finite values: |value| * scale, cut off.
OCTET_X86_64(void, find_bins_avx2, const f32* values, size_t count, f32 scale, s32* bins);

// Sums of squares and of values; lane i adds up every eighth value from i on.
inline constexpr size_t kMomentLanes = 8;
struct MomentLanes {
  f64 squares[kMomentLanes] = {};
  f64 values[kMomentLanes] = {};
};
// The first multiple of eight values.
OCTET_X86_64(void, add_moments_avx2, const f32* values, size_t count, MomentLanes& lanes);

}  // namespace octet
