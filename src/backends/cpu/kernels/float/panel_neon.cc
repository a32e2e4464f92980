// SPDX-License-Identifier: Apache-2.0
// Scheduled before registers are given out, weights of several rows go first, and g++ 12 keeps sums in memory.
#pragma GCC optimize "no-schedule-insns"
#include "backends/cpu/kernels/float/vec_neon.h"

#define OCTET_ISA(name) name##_neon
#include "backends/cpu/kernels/float/f32_panel.h"

namespace octet {
namespace {

// A row of weights by the same lane of each pixel's four values: of 32 registers 24 hold sums, six the values, and two weights.
template <int kLane, int kPixels, int kVectors>
__attribute__((always_inline)) inline void panel_lane(const float32x4_t (&x)[kPixels],
                                                      const float* weights,
                                                      V (&sums)[kPixels * kVectors]) {
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const float32x4_t low = vld1q_f32(weights + v * kLanes);
#pragma GCC unroll 14
    for (int i = 0; i < kPixels; ++i) {
      V& sum = sums[i * kVectors + v];
      sum.low = vfmaq_laneq_f32(sum.low, low, x[i], kLane);
    }
    const float32x4_t high = vld1q_f32(weights + v * kLanes + 4);
#pragma GCC unroll 14
    for (int i = 0; i < kPixels; ++i) {
      V& sum = sums[i * kVectors + v];
      sum.high = vfmaq_laneq_f32(sum.high, high, x[i], kLane);
    }
  }
}

// Four values of each pixel at a time, in their order; how many were taken.
template <int kPixels, int kVectors, class Pixels>
__attribute__((always_inline)) inline long panel_fours(Pixels pixels, const float* weights,
                                                       long length, V (&sums)[kPixels * kVectors]) {
  constexpr long kRow = kVectors * kLanes;
  long k = 0;
  for (; k + 4 <= length; k += 4, pixels.near += 4, pixels.far += 4, weights += 4 * kRow) {
    float32x4_t x[kPixels];
#pragma GCC unroll 14
    for (int i = 0; i < kPixels; ++i) x[i] = vld1q_f32(pixels.at(i));
    panel_lane<0, kPixels, kVectors>(x, weights, sums);
    panel_lane<1, kPixels, kVectors>(x, weights + kRow, sums);
    panel_lane<2, kPixels, kVectors>(x, weights + 2 * kRow, sums);
    panel_lane<3, kPixels, kVectors>(x, weights + 3 * kRow, sums);
  }
  return k;
}

}  // namespace
}  // namespace octet

#include "backends/cpu/kernels/float/panel_body.h"
