// SPDX-License-Identifier: Apache-2.0
// GridSample of images: each element of y is the nearest element of x to a position that the grid gives, or the sum of the four (cubic: sixteen)
// around it, as the operator's definition has it. Constants:
//   COUNT               elements of y; C, POINTS: channels, and positions of an image
//   H, W                of x
//   TAPS                along each axis: 1 (nearest), 2 (linear), 4 (cubic)
//   ALIGN               whether -1 and 1 are centers of pixels
//   BORDER, REFLECTION  whether positions outside have the border's value, or that of their mirror image; else zero
#define THREADS 256
#define LOW (ALIGN ? 0.0f : -0.5f)

// Along one axis; index -1 is outside.
struct Taps {
  s32 index[TAPS];
  f32 weight[TAPS];
};

// Between the borders; fmodf is exact.
__device__ __forceinline__ f32 reflected(f32 x, f32 high) {
  const f32 range = f32_add(high, -LOW);
  if (range <= 0.0f) return LOW;
  const f32 distance = x < LOW ? f32_add(LOW, -x) : f32_add(x, -LOW);
  const f32 rest = fmodf(distance, f32_mul(2.0f, range));
  return rest <= range ? f32_add(LOW, rest) : f32_add(high, -f32_add(rest, -range));
}

__device__ __forceinline__ f32 high_of(f32 size) { return f32_add(size, ALIGN ? -1.0f : -0.5f); }

__device__ __forceinline__ s32 index_of(f32 x, f32 size) {
  if (!BORDER && !REFLECTION && !(x >= 0.0f && x < size)) return -1;
  if (REFLECTION) x = reflected(x, high_of(size));
  return (s32)clamp_f32(x, 0.0f, f32_add(size, -1.0f));
}

// Weights of the cubic kernel, of elements less than one away, and less than two.
__device__ __forceinline__ f32 near_weight(f32 d) { return f32_add(f32_mul(f32_mul(f32_add(f32_mul(1.25f, d), -2.25f), d), d), 1.0f); }
__device__ __forceinline__ f32 far_weight(f32 d) {
  return f32_add(f32_mul(f32_add(f32_mul(f32_add(f32_mul(-0.75f, d), 3.75f), d), -6.0f), d), 3.0f);
}

__device__ __forceinline__ Taps taps_of(f32 normalized, f32 size) {
  const f32 farthest = 16777216.0f, moved = f32_add(normalized, 1.0f), last = f32_add(size, -1.0f), high = high_of(size);
  f32 x = ALIGN ? f32_mul(f32_div(moved, 2.0f), last) : f32_div(f32_add(f32_mul(moved, size), -1.0f), 2.0f);
  x = clamp_f32(x, -farthest, f32_add(size, farthest));
  if (TAPS == 1) x = rintf(x);
  if (!(x >= LOW && x <= high)) x = BORDER ? clamp_f32(x, 0.0f, last) : REFLECTION ? reflected(x, high) : x;
  Taps taps;
#if TAPS == 1
  taps.index[0] = index_of(x, size), taps.weight[0] = 1.0f;
#else
  const f32 whole = floorf(x), rest = f32_add(x, -whole), first = TAPS == 4 ? f32_add(whole, -1.0f) : whole;
#pragma unroll
  for (s32 i = 0; i < TAPS; ++i) taps.index[i] = index_of(f32_add(first, (f32)i), size);
#if TAPS == 2
  taps.weight[1] = rest, taps.weight[0] = f32_add(1.0f, -rest);
#else
  taps.weight[0] = far_weight(f32_add(rest, 1.0f)), taps.weight[1] = near_weight(rest);
  taps.weight[2] = near_weight(f32_add(1.0f, -rest)), taps.weight[3] = far_weight(f32_add(2.0f, -rest));
#endif
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
