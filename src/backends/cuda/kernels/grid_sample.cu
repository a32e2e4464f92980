// SPDX-License-Identifier: Apache-2.0
// GridSample of images: each element of y is the nearest element of x to a position that the grid gives, or the sum of the four around it, as
// the operator's definition has it. Constants:
//   COUNT               elements of y; C, POINTS: channels, and positions of an image
//   H, W                of x
//   NEAREST, ALIGN, BORDER  the mode; whether -1 and 1 are centers of pixels; whether positions outside have the border's value, else zero
#define THREADS 256
#define TAPS (NEAREST ? 1 : 2)

// Along one axis; index -1 is outside.
struct Taps {
  s32 index[TAPS];
  f32 weight[TAPS];
};

__device__ __forceinline__ s32 index_of(f32 x, f32 size) {
  if (!BORDER && !(x >= 0.0f && x < size)) return -1;
  return (s32)clamp_f32(x, 0.0f, f32_add(size, -1.0f));
}

__device__ __forceinline__ Taps taps_of(f32 normalized, f32 size) {
  const f32 farthest = 16777216.0f, moved = f32_add(normalized, 1.0f), last = f32_add(size, -1.0f);
  f32 x = ALIGN ? f32_mul(f32_div(moved, 2.0f), last) : f32_div(f32_add(f32_mul(moved, size), -1.0f), 2.0f);
  x = clamp_f32(x, -farthest, f32_add(size, farthest));
  if (NEAREST) x = rintf(x);
  const f32 low = ALIGN ? 0.0f : -0.5f, high = ALIGN ? last : f32_add(size, -0.5f);
  if (BORDER && !(x >= low && x <= high)) x = clamp_f32(x, 0.0f, last);
  Taps taps;
#if NEAREST
  taps.index[0] = index_of(x, size), taps.weight[0] = 1.0f;
#else
  const f32 first = floorf(x);
  taps.weight[1] = f32_add(x, -first), taps.weight[0] = f32_add(1.0f, -taps.weight[1]);
  taps.index[0] = index_of(first, size), taps.index[1] = index_of(f32_add(first, 1.0f), size);
#endif
  return taps;
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ GridSampleParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS;
  for (s64 at = (s64)blockIdx.x * THREADS + threadIdx.x; at < COUNT; at += step) {
    const s64 plane = at / POINTS, position = plane / C * POINTS + at % POINTS;
    const Taps columns = taps_of(p.grid[2 * position], (f32)W), rows = taps_of(p.grid[2 * position + 1], (f32)H);
    const f32* image = p.x + plane * ((s64)H * W);
    f32 sum = 0.0f;
#pragma unroll
    for (s32 r = 0; r < TAPS; ++r) {
      if (rows.index[r] < 0) continue;
      f32 row = 0.0f;
#pragma unroll
      for (s32 c = 0; c < TAPS; ++c)
        if (columns.index[c] >= 0) row = f32_add(row, f32_mul(columns.weight[c], image[(s64)rows.index[r] * W + columns.index[c]]));
      sum = f32_add(sum, f32_mul(rows.weight[r], row));
    }
    p.y[at] = sum;
  }
}
