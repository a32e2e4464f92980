// SPDX-License-Identifier: Apache-2.0
// Dot products of the scalar references, in the shapes that the compiler vectorizes at the baseline.
#pragma once

#include <algorithm>

#include "core/reduce.h"
#include "core/types.h"

namespace octet {

// 16 interleaved lanes, then pairwise, as all float reductions.
inline f32 dot(const f32* a, const f32* b, s64 count) {
  f32 lanes[kReduceLanes] = {};
  s64 i = 0;
  for (; i + kReduceLanes <= count; i += kReduceLanes) {
    for (int lane = 0; lane < kReduceLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += a[i] * b[i];
  for (int width = kReduceLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

// Modulo 2^32, as the vector units add. Factors are differences of codes, within [-255, 255], so no product overflows.
inline s32 dot(const s16* a, const s16* b, s64 count) {
  u32 sum = 0;
  for (s64 i = 0; i < count; ++i) sum += static_cast<u32>(s32{a[i]} * s32{b[i]});
  return static_cast<s32>(sum);
}

}  // namespace octet
