// SPDX-License-Identifier: Apache-2.0
// Rows of reals that a sum of theirs scales or moves. Maximum and sum run in 16 lanes (docs/numerics.md, section 7), a thread for each.
#include "backends/cuda/device/math.cuh"

using namespace octet::cuda;
using namespace octet::cuda::row_functions;

constexpr Spec s = Made::spec();
ROW_FUNCTIONS_RULES(OCTET_RULE_ASSERT)

constexpr bool kLogSoftmax = s.function == Function::log_softmax, kSquares = s.function == Function::l2;

// What an element brings to the sum.
__device__ __forceinline__ f32 term_of(f32 x, f32 most) {
  return kLogSoftmax ? math_exp(f32_sub(x, most)) : kSquares ? f32_mul(x, x) : fabsf(x);
}
__device__ __forceinline__ f32 norm_of(f32 sum) { return kLogSoftmax ? math_log(sum) : kSquares ? f32_sqrt(sum) : sum; }
__device__ __forceinline__ f32 result_of(f32 x, f32 most, f32 norm) {
  if (kLogSoftmax) return f32_sub(f32_sub(x, most), norm);
  return norm == 0.0f ? 0.0f : f32_div(x, norm);
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 wanted = ((s64)blockIdx.x * kThreads + threadIdx.x) / kLanes;
  // Threads beyond the last row take part in what their warp exchanges.
  const s64 row = wanted < s.rows ? wanted : s.rows - 1, first = row / s.inner * s.count * s.inner + row % s.inner;
  const f32* x = p.x + first;
  const s32 lane = threadIdx.x % kLanes;
  f32 most = 0.0f;
  if constexpr (kLogSoftmax) {
    most = -INFINITY_F32;
#pragma unroll 4
    for (s32 i = lane; i < s.count; i += kLanes) {
      const f32 value = x[(s64)i * s.inner];
      most = value > most ? value : most;
    }
#pragma unroll
    for (s32 apart = kLanes / 2; apart > 0; apart /= 2) {
      const f32 other = __shfl_xor_sync(~0u, most, apart);
      most = other > most ? other : most;
    }
    most = __shfl_sync(~0u, most, 0, kLanes);  // of zeros of both signs the first lane's
  }
  f32 sum = 0.0f;
#pragma unroll 4
  for (s32 i = lane; i < s.count; i += kLanes) sum = f32_add(sum, term_of(x[(s64)i * s.inner], most));
#pragma unroll
  for (s32 apart = kLanes / 2; apart > 0; apart /= 2) sum = f32_add(sum, __shfl_xor_sync(~0u, sum, apart));
  if (wanted >= s.rows) return;
  const f32 norm = norm_of(sum);
  f32* y = p.y + first;
#pragma unroll 4
  for (s32 i = lane; i < s.count; i += kLanes) y[(s64)i * s.inner] = result_of(x[(s64)i * s.inner], most, norm);
}
