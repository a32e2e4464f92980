// SPDX-License-Identifier: Apache-2.0
// What both kernels of recurrent layers share: which step of a sequence is when, and sums of products in the order of core/reduce.h (element k
// goes into lane k mod kLanes, product and sum are rounded apart), four rows by some vectors. Four neighbouring threads have such a tile between
// them: thread g the lanes 4g to 4g + 3.
#pragma once

#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/recurrent.h"

namespace octet::cuda {

// What is walked at step t; Own::spec() is the RecurrentWalk. Lengths that are none are reported elsewhere; here they must do no harm.
template <class Own>
struct Sequence {
  static constexpr RecurrentWalk s = Own::spec();
  s32 n, length;
  bool backwards;

  __device__ __forceinline__ Sequence() {}
  __device__ __forceinline__ Sequence(const void* lengths, s32 of, s32 direction) : n(of), length(s.steps), backwards(s.reverse || direction == 1) {
    if constexpr (s.lengths) {
      const s64 given = (s64)((const Element<s.length>*)lengths)[n];
      length = (s32)min(max(given, (s64)0), (s64)s.steps);
    }
  }
  __device__ __forceinline__ s64 time(s32 t) const { return backwards && t < length ? length - 1 - t : t; }
  // Of a row of x; rows of y have directions beside.
  __device__ __forceinline__ s64 row(s32 t) const { return s.batch_first ? (s64)n * s.steps + time(t) : time(t) * s.batch + n; }
};

// Elements [k, k + 4) of `count`; zeros behind them. kTogether: one access may read them.
template <bool kTogether>
__device__ __forceinline__ float4 load4(const f32* from, s32 k, s32 count) {
  if (kTogether) return k < count ? *(const float4*)(from + k) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  return make_float4(k < count ? from[k] : 0.0f, k + 1 < count ? from[k + 1] : 0.0f, k + 2 < count ? from[k + 2] : 0.0f,
                     k + 3 < count ? from[k + 3] : 0.0f);
}

template <s32 kVectors>
struct LaneTile {
  f32 lanes[4 * kVectors][4];  // of a row the vectors lie together

  __device__ __forceinline__ LaneTile() {
#pragma unroll
    for (s32 i = 0; i < 4 * kVectors; ++i) lanes[i][0] = lanes[i][1] = lanes[i][2] = lanes[i][3] = 0.0f;
  }
  __device__ __forceinline__ void add(const float4 (&rows)[4], const float4 (&vectors)[kVectors]) {
#pragma unroll
    for (s32 i = 0; i < 4 * kVectors; ++i) {
      const float4 a = rows[i / kVectors], b = vectors[i % kVectors];
      lanes[i][0] = f32_add(lanes[i][0], f32_mul(a.x, b.x));
      lanes[i][1] = f32_add(lanes[i][1], f32_mul(a.y, b.y));
      lanes[i][2] = f32_add(lanes[i][2], f32_mul(a.z, b.z));
      lanes[i][3] = f32_add(lanes[i][3], f32_mul(a.w, b.w));
    }
  }
  // Thread g gets the sums of row g. Lanes 8 apart are two threads apart, those 4 apart one: each time a thread gives away what it does not keep.
  __device__ __forceinline__ void fold(f32 (&sums)[kVectors]) const {
    const bool upper = (threadIdx.x & 2) != 0, odd = (threadIdx.x & 1) != 0;
    f32 half[2 * kVectors][4];
#pragma unroll
    for (s32 i = 0; i < 8 * kVectors; ++i) {
      const f32 low = lanes[i / 4][i % 4], high = lanes[i / 4 + 2 * kVectors][i % 4];
      half[i / 4][i % 4] = f32_add(upper ? high : low, __shfl_xor_sync(0xffffffffu, upper ? low : high, 2));
    }
#pragma unroll
    for (s32 v = 0; v < kVectors; ++v) {
      f32 four[4];
#pragma unroll
      for (s32 l = 0; l < 4; ++l) {
        const f32 low = half[v][l], high = half[v + kVectors][l];
        four[l] = f32_add(odd ? high : low, __shfl_xor_sync(0xffffffffu, odd ? low : high, 1));
      }
      sums[v] = f32_add(f32_add(four[0], four[2]), f32_add(four[1], four[3]));
    }
  }
};

}  // namespace octet::cuda
