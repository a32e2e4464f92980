// SPDX-License-Identifier: Apache-2.0
// Sums, products and extremes over some axes. A row is what makes one output: COUNT elements in the order of the reduced axes, of which
// lane l of 16 takes l, l + 16, ...; lanes are combined pairwise, 8 apart, then 4, 2, 1, so sums of reals have the bits of docs/numerics.md,
// section 7. Of integers any order has the same bits: lanes are as many as keep the chip busy.
// Constants:
//   ELEMENT, OUT, SUM  types of x, y and of what is combined
//   VALUE              what the element `x`, number `i` of its row, brings; FIRST: where none is; COMBINE: of a and b, which came later
//   FINISH             the output as a function of `sum` and of `row`: row[element_at(i)] is element i
//   LANES              16 for reals; 1 where elements are combined one after another; UNROLL: loads that a lane has under way
//   OUTER              X(size, stride in x, in y) for each kept axis but the inner one, fastest first; OUTERS: their product
//   INNER              MODE 0: elements of the kept axis whose neighbours lie together in x (in y: Y_INNER apart); VEC of them for
//                      each thread, VEC divides it; ACCESS: bytes of one load
//   REDUCED            X(size, stride in x) for each reduced axis, last first; COUNT
//   MODE               0: a block takes COLUMNS vectors of INNER; 1: LANES of a warp take one row
//   THREADS            of a block; MODE 0: LANES * COLUMNS
#define VECTORS (INNER / VEC)
#define BLOCKS ((VECTORS + COLUMNS - 1) / COLUMNS)

__device__ __forceinline__ s64 element_at(s32 index) {
  s64 at = 0;
  s32 rest = index;
  __builtin_assume(index >= 0);
#define X(size, stride)              \
  at += (s64)(rest % size) * stride; \
  rest /= size;
  REDUCED
#undef X
  return at;
}

__device__ __forceinline__ void outer_offsets(s64 outer, s64& x, s64& y) {
  s64 rest = outer;
#define X(size, x_stride, y_stride) \
  x += rest % size * x_stride;      \
  y += rest % size * y_stride;      \
  rest /= size;
  OUTER
#undef X
}

__device__ __forceinline__ SUM value_of(ELEMENT x, s32 i) { return (SUM)(VALUE); }
__device__ __forceinline__ SUM combined(SUM a, SUM b) { return (SUM)(COMBINE); }
__device__ __forceinline__ OUT finished(SUM sum, const ELEMENT* row) { return (OUT)(FINISH); }

#if MODE == 0
__shared__ Values<SUM, VEC> sums[LANES][COLUMNS];
#endif

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ PoolParams p) {
  let_successor_begin();
  wait_for_predecessor();
  s64 x_at = 0, y_at = 0;
#if MODE == 0
  const s32 column = threadIdx.x % COLUMNS, lane = threadIdx.x / COLUMNS;
  const s32 vector = blockIdx.x % BLOCKS * COLUMNS + column;
  outer_offsets(blockIdx.x / BLOCKS, x_at, y_at);
  const ELEMENT* x = (const ELEMENT*)p.x + x_at + (s64)vector * VEC;
  Values<SUM, VEC> mine;
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) mine.at[e] = (SUM)(FIRST);
  if (vector < VECTORS) {
#pragma unroll UNROLL
    for (s32 i = lane; i < COUNT; i += LANES) {
      Values<ELEMENT, VEC> values;
      load_values<ACCESS>(values, x + element_at(i));
#pragma unroll
      for (s32 e = 0; e < VEC; ++e) mine.at[e] = combined(mine.at[e], value_of(values.at[e], i));
    }
  }
  sums[lane][column] = mine;
#pragma unroll
  for (s32 half = LANES / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
#pragma unroll
      for (s32 e = 0; e < VEC; ++e) {
        mine.at[e] = combined(mine.at[e], sums[lane + half][column].at[e]);
        sums[lane][column].at[e] = mine.at[e];
      }
    }
  }
  if (lane != 0 || vector >= VECTORS) return;
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) ((OUT*)p.y)[y_at + ((s64)vector * VEC + e) * Y_INNER] = finished(mine.at[e], x + e);
#else
  const s64 row = ((s64)blockIdx.x * THREADS + threadIdx.x) / LANES;
  const s32 lane = threadIdx.x % LANES;
  SUM sum = (SUM)(FIRST);
  const ELEMENT* x = (const ELEMENT*)p.x;
  if (row < OUTERS) {
    outer_offsets(row, x_at, y_at);
    x += x_at;
#pragma unroll UNROLL
    for (s32 i = lane; i < COUNT; i += LANES) sum = combined(sum, value_of(x[element_at(i)], i));
  }
#pragma unroll
  for (s32 half = LANES / 2; half > 0; half /= 2) sum = combined(sum, of_lane_beside(sum, half));
  if (row < OUTERS && lane == 0) ((OUT*)p.y)[y_at] = finished(sum, x);
#endif
}
