// SPDX-License-Identifier: Apache-2.0
// Sums over some axes. A row is what makes one output: COUNT elements in the order of the reduced axes, of which lane l of 16 takes
// l, l + 16, ...; lanes are added pairwise, 8 apart, then 4, 2, 1, so reals have the bits of docs/numerics.md, section 7.
// Constants:
//   ELEMENT, OUT, SUM  types of x, y and sums; FINISH: the output as a function of `sum`
//   OUTER              X(size, stride in x, in y) for each kept axis but the inner one, fastest first; OUTERS: their product
//   INNER              MODE 0: elements of the kept axis whose neighbours lie together in x (in y: Y_INNER apart); VEC of them for
//                      each thread, VEC divides it; ACCESS: bytes of one load
//   REDUCED            X(size, stride in x) for each reduced axis, last first; COUNT
//   MODE               0: a block takes 16 vectors of INNER; 1: 16 lanes of a warp take one row
#define THREADS 256
#define LANES 16
#define VECTORS (INNER / VEC)
#define BLOCKS ((VECTORS + 15) / 16)

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

__device__ __forceinline__ SUM plus(SUM a, SUM b) {
#if REAL
  return f32_add(a, b);
#else
  return a + b;
#endif
}

#if MODE == 0
__shared__ Values<SUM, VEC> sums[LANES][16];
#endif

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ PoolParams p) {
  let_successor_begin();
  wait_for_predecessor();
  s64 x_at = 0, y_at = 0;
#if MODE == 0
  const s32 column = threadIdx.x % 16, lane = threadIdx.x / 16;
  const s32 vector = blockIdx.x % BLOCKS * 16 + column;
  outer_offsets(blockIdx.x / BLOCKS, x_at, y_at);
  const ELEMENT* x = (const ELEMENT*)p.x + x_at + (s64)vector * VEC;
  Values<SUM, VEC> mine;
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) mine.at[e] = 0;
  if (vector < VECTORS) {
#pragma unroll 4
    for (s32 i = lane; i < COUNT; i += LANES) {
      Values<ELEMENT, VEC> values;
      load_values<ACCESS>(values, x + element_at(i));
#pragma unroll
      for (s32 e = 0; e < VEC; ++e) mine.at[e] = plus(mine.at[e], (SUM)values.at[e]);
    }
  }
  sums[lane][column] = mine;
#pragma unroll
  for (s32 half = LANES / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
#pragma unroll
      for (s32 e = 0; e < VEC; ++e) {
        mine.at[e] = plus(mine.at[e], sums[lane + half][column].at[e]);
        sums[lane][column].at[e] = mine.at[e];
      }
    }
  }
  if (lane != 0 || vector >= VECTORS) return;
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) {
    const SUM sum = mine.at[e];
    ((OUT*)p.y)[y_at + ((s64)vector * VEC + e) * Y_INNER] = (OUT)(FINISH);
  }
#else
  const s64 row = ((s64)blockIdx.x * THREADS + threadIdx.x) / LANES;
  const s32 lane = threadIdx.x % LANES;
  SUM sum = 0;
  if (row < OUTERS) {
    outer_offsets(row, x_at, y_at);
    const ELEMENT* x = (const ELEMENT*)p.x + x_at;
#pragma unroll 4
    for (s32 i = lane; i < COUNT; i += LANES) sum = plus(sum, (SUM)x[element_at(i)]);
  }
#pragma unroll
  for (s32 half = LANES / 2; half > 0; half /= 2) sum = plus(sum, __shfl_xor_sync(0xffffffffu, sum, half));
  if (row < OUTERS && lane == 0) ((OUT*)p.y)[y_at] = (OUT)(FINISH);
#endif
}
