// SPDX-License-Identifier: Apache-2.0
// The K first of each row, sorted, and their places; a block for each row. Constants:
//   COUNT, INNER, K  COUNT elements of a row lie INNER apart; row r begins at r / INNER * COUNT * INNER + r % INNER
//   LARGEST                the largest first, of which NaN is one; else the smallest, NaN last
//   SIZE, THREADS          keys that are sorted together, a power of two; where the row has more, K is at most the half. THREADS: SIZE / 2
__shared__ u64 keys[SIZE];

__device__ __forceinline__ u64 key_at(const f32* row, s32 i) {
  return i < COUNT ? extreme_key(row[(s64)i * INNER], i, LARGEST, LARGEST, false) : 0;
}

// Greatest first. Each thread has one pair of each step.
__device__ __forceinline__ void sort_keys() {
  const s32 t = threadIdx.x;
  for (s32 run = 2; run <= SIZE; run *= 2) {
    for (s32 apart = run / 2; apart > 0; apart /= 2) {
      __syncthreads();
      const s32 i = 2 * t - (t & (apart - 1));
      const u64 a = keys[i], b = keys[i + apart];
      if ((a < b) == ((i & run) == 0)) keys[i] = b, keys[i + apart] = a;
    }
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ TopKParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 r = blockIdx.x, first = r / INNER * INNER;
  const f32* row = p.x + first * COUNT + r % INNER;
  const s32 t = threadIdx.x;
  keys[t] = key_at(row, t), keys[t + THREADS] = key_at(row, t + THREADS);
  sort_keys();
  for (s32 begin = SIZE; begin < COUNT; begin += THREADS) {
    const u64 key = key_at(row, begin + t);
    if (__syncthreads_or(key > keys[K - 1]) == 0) continue;
    keys[t + THREADS] = key;
    sort_keys();
  }
  const s64 to = first * K + r % INNER;
  for (s32 i = t; i < K; i += THREADS) {
    const s32 place = extreme_place(keys[i], LARGEST, false);
    if (p.values != nullptr) p.values[to + (s64)i * INNER] = row[(s64)place * INNER];
    if (p.indices != nullptr) p.indices[to + (s64)i * INNER] = place;
  }
}
