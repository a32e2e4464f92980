// SPDX-License-Identifier: Apache-2.0
// Reductions of float islands (docs/numerics.md, section 7): 16 interleaved lanes, then the lanes pairwise. The order is
// fixed, so that one AVX-512 register, two AVX2 registers and half a warp give the same bits.
#pragma once

#include <limits>
#include <span>

#include "core/types.h"

namespace octet {

inline constexpr int kReduceLanes = 16;

// Element i, read by at(i), goes into lane i mod 16 by lane = op(lane, element); then lanes 0+8, 1+9, ...; 4; 2; 1.
template <class At, class Op>
f32 lane_reduce(s64 count, f32 start, const At& at, const Op& op) {
  f32 lanes[kReduceLanes];
  for (f32& lane : lanes) lane = start;
  for (s64 i = 0; i < count; ++i) lanes[i % kReduceLanes] = op(lanes[i % kReduceLanes], at(i));
  for (int width = kReduceLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = op(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}

// `at` may gather: lane_sum(n, [&](s64 i) { return x[i * stride]; }).
template <class At>
f32 lane_sum(s64 count, const At& at) {
  return lane_reduce(count, 0.0f, at, [](f32 lane, f32 x) { return lane + x; });
}

// NaN elements are skipped, so the order does not matter; -inf for none.
template <class At>
f32 lane_max(s64 count, const At& at) {
  return lane_reduce(count, -std::numeric_limits<f32>::infinity(), at,
                     [](f32 lane, f32 x) { return x > lane ? x : lane; });
}

template <class At>
f32 lane_min(s64 count, const At& at) {
  return lane_reduce(count, std::numeric_limits<f32>::infinity(), at,
                     [](f32 lane, f32 x) { return x < lane ? x : lane; });
}

inline f32 lane_sum(std::span<const f32> x) {
  return lane_sum(static_cast<s64>(x.size()), [&](s64 i) { return x[static_cast<size_t>(i)]; });
}

inline f32 lane_max(std::span<const f32> x) {
  return lane_max(static_cast<s64>(x.size()), [&](s64 i) { return x[static_cast<size_t>(i)]; });
}

}  // namespace octet
