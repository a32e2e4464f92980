// SPDX-License-Identifier: Apache-2.0
// Weighted sums of neighbours: docs/numerics.md, section 5. Images are [IMAGES][IH][IW][INNER]; a thread makes VEC of INNER.
// Constants:
//   ELEMENT, OUT       types of x and y; CODES: x holds codes, ZP is their zero point; FINISH: the output as a function of `v`
//   COUNT              vectors of y in all; INNER, VEC (divides it), ACCESS_X, ACCESS_Y: bytes of one load, store
//   OH, OW             X_IMAGE, X_ROW, X_PIXEL, Y_... in elements
//   ROW_TAPS, COLUMN_TAPS  0: the axis stays as it is
#define THREADS 256
#define VECTORS (INNER / VEC)

struct Sum {
  f32 at[VEC];
};

__device__ __forceinline__ Sum pixel_at(const ELEMENT* x, s32 h, s32 w) {
  Values<ELEMENT, VEC> values;
  load_values<ACCESS_X>(values, x + (s64)h * X_ROW + (s64)w * X_PIXEL);
  Sum sum;
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) {
#if CODES
    sum.at[e] = centered(values.at[e], ZP);
#else
    sum.at[e] = values.at[e];
#endif
  }
  return sum;
}

__device__ __forceinline__ void add(Sum& to, f32 weight, const Sum& from) {
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) to.at[e] = f32_add(to.at[e], f32_mul(weight, from.at[e]));
}

__device__ __forceinline__ Sum nothing() {
  Sum sum;
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) sum.at[e] = 0.0f;
  return sum;
}

// Of one column of the input: rows come first.
__device__ __forceinline__ Sum column_at(const InterpolateParams& p, const ELEMENT* x, s32 oh, s32 w) {
#if ROW_TAPS == 0
  return pixel_at(x, oh, w);
#else
  Sum sum = nothing();
#pragma unroll UNROLL
  for (s32 k = 0; k < ROW_TAPS; ++k) add(sum, p.row_weights[oh * ROW_TAPS + k], pixel_at(x, p.rows[oh * ROW_TAPS + k], w));
  return sum;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ InterpolateParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS;
  for (s64 at = (s64)blockIdx.x * THREADS + threadIdx.x; at < COUNT; at += step) {
    const s32 c = (s32)(at % VECTORS) * VEC, pixel = (s32)(at / VECTORS % (OH * OW));
    const s64 image = at / ((s64)VECTORS * OH * OW);
    const s32 oh = pixel / OW, ow = pixel % OW;
    const ELEMENT* x = (const ELEMENT*)p.x + image * X_IMAGE + c;
#if COLUMN_TAPS == 0
    const Sum sum = column_at(p, x, oh, ow);
#else
    Sum sum = nothing();
#pragma unroll UNROLL
    for (s32 k = 0; k < COLUMN_TAPS; ++k)
      add(sum, p.column_weights[ow * COLUMN_TAPS + k], column_at(p, x, oh, p.columns[ow * COLUMN_TAPS + k]));
#endif
    Values<OUT, VEC> y;
#pragma unroll
    for (s32 e = 0; e < VEC; ++e) {
      const f32 v = sum.at[e];
      y.at[e] = (OUT)(FINISH);
    }
    store_values<ACCESS_Y>((OUT*)p.y + image * Y_IMAGE + (s64)oh * Y_ROW + (s64)ow * Y_PIXEL + c, y);
  }
}
