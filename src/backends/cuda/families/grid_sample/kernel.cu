// SPDX-License-Identifier: Apache-2.0
// GridSample of images: each element of y is the nearest element of x to a position that the grid gives, or the sum of the four (cubic: sixteen)
// around it, as the operator's definition has it.
using namespace octet::cuda;
using namespace octet::cuda::grid_sample;

constexpr Spec s = Made::spec();
GRID_SAMPLE_RULES(OCTET_RULE_ASSERT)

constexpr bool kBorder = s.outside == Outside::border, kReflection = s.outside == Outside::reflection;
constexpr f32 kLow = s.align_corners ? 0.0f : -0.5f;

// Along one axis; index -1 is outside.
template <s32 kTaps>
struct Taps {
  s32 index[kTaps];
  f32 weight[kTaps];
};

// Between the borders; fmodf is exact.
__device__ __forceinline__ f32 reflected(f32 x, f32 high) {
  const f32 range = f32_add(high, -kLow);
  if (range <= 0.0f) return kLow;
  const f32 distance = x < kLow ? f32_add(kLow, -x) : f32_add(x, -kLow);
  const f32 rest = fmodf(distance, f32_mul(2.0f, range));
  return rest <= range ? f32_add(kLow, rest) : f32_add(high, -f32_add(rest, -range));
}

__device__ __forceinline__ f32 high_of(f32 size) { return f32_add(size, s.align_corners ? -1.0f : -0.5f); }

__device__ __forceinline__ s32 index_of(f32 x, f32 size) {
  if (!kBorder && !kReflection && !(x >= 0.0f && x < size)) return -1;
  if (kReflection) x = reflected(x, high_of(size));
  return (s32)clamp_f32(x, 0.0f, f32_add(size, -1.0f));
}

// Weights of the cubic kernel, of elements less than one away, and less than two.
__device__ __forceinline__ f32 near_weight(f32 d) { return f32_add(f32_mul(f32_mul(f32_add(f32_mul(1.25f, d), -2.25f), d), d), 1.0f); }
__device__ __forceinline__ f32 far_weight(f32 d) {
  return f32_add(f32_mul(f32_add(f32_mul(f32_add(f32_mul(-0.75f, d), 3.75f), d), -6.0f), d), 3.0f);
}

template <s32 kTaps>
__device__ __forceinline__ Taps<kTaps> taps_of(f32 normalized, f32 size) {
  const f32 farthest = 16777216.0f, moved = f32_add(normalized, 1.0f), last = f32_add(size, -1.0f), high = high_of(size);
  f32 x = s.align_corners ? f32_mul(f32_div(moved, 2.0f), last) : f32_div(f32_add(f32_mul(moved, size), -1.0f), 2.0f);
  x = clamp_f32(x, -farthest, f32_add(size, farthest));
  if (kTaps == 1) x = rintf(x);
  // Of a cubic each element is the nearest inside, not the position.
  if (!(x >= kLow && x <= high) && !(kBorder && kTaps == 4)) x = kBorder ? clamp_f32(x, 0.0f, last) : kReflection ? reflected(x, high) : x;
  Taps<kTaps> taps;
  if constexpr (kTaps == 1) {
    taps.index[0] = index_of(x, size), taps.weight[0] = 1.0f;
  } else {
    const f32 whole = floorf(x), rest = f32_add(x, -whole), first = kTaps == 4 ? f32_add(whole, -1.0f) : whole;
#pragma unroll
    for (s32 i = 0; i < kTaps; ++i) taps.index[i] = index_of(f32_add(first, (f32)i), size);
    if constexpr (kTaps == 2) {
      taps.weight[1] = rest, taps.weight[0] = f32_add(1.0f, -rest);
    } else {
      taps.weight[0] = far_weight(f32_add(rest, 1.0f)), taps.weight[1] = near_weight(rest);
      taps.weight[2] = near_weight(f32_add(1.0f, -rest)), taps.weight[3] = far_weight(f32_add(2.0f, -rest));
    }
  }
  return taps;
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 at = (s64)blockIdx.x * kThreads + threadIdx.x; at < s.count; at += step) {
    const s64 plane = at / s.points, position = plane / s.channels * s.points + at % s.points;
    const Taps<s.taps> columns = taps_of<s.taps>(p.grid[2 * position], (f32)s.width), rows = taps_of<s.taps>(p.grid[2 * position + 1], (f32)s.height);
    const f32* image = p.x + plane * ((s64)s.height * s.width);
    f32 sum = 0.0f;
#pragma unroll
    for (s32 r = 0; r < s.taps; ++r) {
      if (rows.index[r] < 0) continue;
      f32 row = 0.0f;
#pragma unroll
      for (s32 c = 0; c < s.taps; ++c)
        if (columns.index[c] >= 0) row = f32_add(row, f32_mul(columns.weight[c], image[(s64)rows.index[r] * s.width + columns.index[c]]));
      sum = f32_add(sum, f32_mul(rows.weight[r], row));
    }
    p.y[at] = sum;
  }
}
