// SPDX-License-Identifier: Apache-2.0
// Of LSTM, GRU and RNN, what the weights of the input make of x at many steps at once: sums[direction][step][sequence][row], in the order in
// which steps are walked. A block has 32 rows by 32 vectors.
#include "backends/cuda/device/recurrent.cuh"

using namespace octet::cuda;
using namespace octet::cuda::recurrent_inputs;

constexpr Spec s = Made::spec();
RECURRENT_INPUTS_RULES(OCTET_RULE_ASSERT)

using OwnWalk = PartOf<Made, &Spec::walk>;

using X = Element<s.x>;
constexpr s32 kRows = s.rows, kVectors = vectors(s), kRowTiles = row_tiles(s), kVectorTiles = vector_tiles(s);

__shared__ float4 shared_rows[kChunksEach][kTile][4], shared_vectors[kChunksEach][kTile][4];

// Codes less their zero point.
__device__ __forceinline__ float4 load_x4(const X* from, s32 k, s32 count) {
  if constexpr (s.walk.codes) {
    f32 x[4];
#pragma unroll
    for (s32 i = 0; i < 4; ++i) x[i] = k + i < count ? (f32)((s32)from[k + i] - s.zero_point) : 0.0f;
    return make_float4(x[0], x[1], x[2], x[3]);
  } else {
    return load4<s.x_together>((const f32*)from, k, count);
  }
}

// Null where there is nothing to read.
__device__ __forceinline__ const X* vector_of(const Params& p, s32 vector, s32 direction) {
  const s32 t = p.first + vector / s.walk.batch;
  if (vector >= kVectors || t >= s.walk.steps) return nullptr;
  const Sequence<OwnWalk> sequence(p.lengths, vector % s.walk.batch, direction);
  return t < sequence.length ? (const X*)p.x + sequence.row(t) * s.input : nullptr;
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 row0 = blockIdx.x % kRowTiles * kTile, vector0 = blockIdx.x / kRowTiles % kVectorTiles * kTile;
  const s32 direction = blockIdx.x / (kRowTiles * kVectorTiles);
  // What this thread brings: a quarter of a chunk of one row and of one vector.
  const s32 g = threadIdx.x % 4, place = threadIdx.x / 4 % kTile, chunk = threadIdx.x / (4 * kTile);
  const f32* w = p.weights + ((s64)direction * kRows + min(row0 + place, kRows - 1)) * s.input;
  const X* x = vector_of(p, vector0 + place, direction);
  const s32 row = threadIdx.x / 4 % (kTile / 4), vector = threadIdx.x / kTile;
  LaneTile<4> tile;
  for (s32 k0 = 0; k0 < s.input; k0 += kChunksEach * kLanes) {
    const s32 k = k0 + chunk * kLanes + 4 * g;
    const float4 next_row = load4<s.w_together>(w, k, s.input), next_vector = load_x4(x, k, x != nullptr ? s.input : 0);
    __syncthreads();
    shared_rows[chunk][place][g] = next_row, shared_vectors[chunk][place][g] = next_vector;
    __syncthreads();
#pragma unroll
    for (s32 c = 0; c < kChunksEach; ++c) {
      float4 a[4], b[4];
#pragma unroll
      for (s32 i = 0; i < 4; ++i) a[i] = shared_rows[c][row + i * (kTile / 4)][g], b[i] = shared_vectors[c][vector + i * (kTile / 4)][g];
      tile.add(a, b);
    }
  }
  f32 sums[4];
  tile.fold(sums);
  const s32 mine = row0 + row + g * (kTile / 4);
  if (mine >= kRows) return;
#pragma unroll
  for (s32 i = 0; i < 4; ++i) {
    const s32 v = vector0 + vector + i * (kTile / 4);
    const f32 product = s.walk.codes ? f32_mul(sums[i], p.multipliers[(s64)direction * kRows + mine]) : sums[i];
    const f32 sum = s.walk.bias ? f32_add(product, p.bias[(s64)direction * 2 * kRows + mine]) : product;
    if (v < kVectors) p.sums[((s64)direction * kVectors + v) * kRows + mine] = sum;
  }
}
