// SPDX-License-Identifier: Apache-2.0
// Rows of reals that a sum of theirs scales or moves: LogSoftmax, LpNormalization. Maximum and sum run in 16 lanes (docs/numerics.md,
// section 7), a thread for each. Constants:
//   ROWS, COUNT, INNER  COUNT elements of a row lie INNER apart; row r begins at r / INNER * COUNT * INNER + r % INNER
//   FIND_MOST           whether VALUE needs the largest element `most`, else 0
//   VALUE               what element x brings to the sum; NORM: of `sum`; RESULT: of x, `most` and `norm`
#define LANES 16
#define THREADS 128

__device__ __forceinline__ f32 value_of(f32 x, f32 most) { return VALUE; }
__device__ __forceinline__ f32 norm_of(f32 sum) { return NORM; }
__device__ __forceinline__ f32 result_of(f32 x, f32 most, f32 norm) { return RESULT; }

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ RowsParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 wanted = ((s64)blockIdx.x * THREADS + threadIdx.x) / LANES;
  // Threads beyond the last row take part in what their warp exchanges.
  const s64 row = wanted < ROWS ? wanted : (s64)ROWS - 1, first = row / INNER * COUNT * INNER + row % INNER;
  const f32* x = (const f32*)p.x + first;
  const s32 lane = threadIdx.x % LANES;
  f32 most = 0.0f;
#if FIND_MOST
  most = -INFINITY_F32;
#pragma unroll 4
  for (s32 i = lane; i < COUNT; i += LANES) {
    const f32 value = x[(s64)i * INNER];
    most = value > most ? value : most;
  }
#pragma unroll
  for (s32 apart = LANES / 2; apart > 0; apart /= 2) {
    const f32 other = __shfl_xor_sync(~0u, most, apart);
    most = other > most ? other : most;
  }
  most = __shfl_sync(~0u, most, 0, LANES);  // of zeros of both signs the first lane's
#endif
  f32 sum = 0.0f;
#pragma unroll 4
  for (s32 i = lane; i < COUNT; i += LANES) sum = f32_add(sum, value_of(x[(s64)i * INNER], most));
#pragma unroll
  for (s32 apart = LANES / 2; apart > 0; apart /= 2) sum = f32_add(sum, __shfl_xor_sync(~0u, sum, apart));
  if (wanted >= ROWS) return;
  const f32 norm = norm_of(sum);
  f32* y = (f32*)p.y + first;
#pragma unroll 4
  for (s32 i = lane; i < COUNT; i += LANES) y[(s64)i * INNER] = result_of(x[(s64)i * INNER], most, norm);
}
