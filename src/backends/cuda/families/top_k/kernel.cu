// SPDX-License-Identifier: Apache-2.0
// The first k of each row, sorted, and their places; a block for each row.
#include "backends/cuda/device/extremes.cuh"

using namespace octet::cuda;
using namespace octet::cuda::top_k;

constexpr Spec s = Made::spec();
TOP_K_RULES(OCTET_RULE_ASSERT)

constexpr s32 kThreads = threads(s);

__shared__ u64 keys[s.size];

__device__ __forceinline__ u64 key_at(const f32* row, s32 i) {
  return i < s.count ? extreme_key(row[(s64)i * s.inner], i, s.largest, s.largest, false) : 0;
}

// Greatest first. Each thread has one pair of each step.
__device__ __forceinline__ void sort_keys() {
  const s32 t = threadIdx.x;
  for (s32 run = 2; run <= s.size; run *= 2) {
    for (s32 apart = run / 2; apart > 0; apart /= 2) {
      __syncthreads();
      const s32 i = 2 * t - (t & (apart - 1));
      const u64 a = keys[i], b = keys[i + apart];
      if ((a < b) == ((i & run) == 0)) keys[i] = b, keys[i + apart] = a;
    }
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 r = blockIdx.x, first = r / s.inner * s.inner;
  const f32* row = p.x + first * s.count + r % s.inner;
  const s32 t = threadIdx.x;
  keys[t] = key_at(row, t), keys[t + kThreads] = key_at(row, t + kThreads);
  sort_keys();
  for (s32 begin = s.size; begin < s.count; begin += kThreads) {
    const u64 key = key_at(row, begin + t);
    if (__syncthreads_or(key > keys[s.k - 1]) == 0) continue;
    keys[t + kThreads] = key;
    sort_keys();
  }
  const s64 to = first * s.k + r % s.inner;
  for (s32 i = t; i < s.k; i += kThreads) {
    const s32 place = extreme_place(keys[i], s.largest, false);
    if (p.values != nullptr) p.values[to + (s64)i * s.inner] = row[(s64)place * s.inner];
    if (p.indices != nullptr) p.indices[to + (s64)i * s.inner] = place;
  }
}
