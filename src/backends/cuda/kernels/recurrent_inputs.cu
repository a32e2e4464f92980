// SPDX-License-Identifier: Apache-2.0
// Of LSTM, GRU and RNN, what the weights of the input make of x at many steps at once: sums[direction][step][sequence][row], in the order in
// which steps are walked. A block has 32 rows by 32 vectors. Constants, beside those of recurrent.cu:
//   AT_ONCE, INPUT, ROWS    steps; elements of x at a step; rows of the weights of one direction
//   BIAS                    whether there is one
//   X_TOGETHER, W_TOGETHER  four neighbours are one access
//   X, ZP_X                 the type of x, and its zero point where it is codes
#define TILE 32
#define THREADS 256
#define CHUNKS_EACH 2  // of LANES elements, that a block has at the same time
#define VECTORS (AT_ONCE * BATCH)
#define ROW_TILES ((ROWS + TILE - 1) / TILE)
#define VECTOR_TILES ((VECTORS + TILE - 1) / TILE)

__shared__ float4 rows[CHUNKS_EACH][TILE][4], vectors[CHUNKS_EACH][TILE][4];

#if CODES
// Less their zero points.
__device__ __forceinline__ float4 load_x4(const X* from, s32 k, s32 count) {
  f32 x[4];
#pragma unroll
  for (s32 i = 0; i < 4; ++i) x[i] = k + i < count ? (f32)((s32)from[k + i] - ZP_X) : 0.0f;
  return make_float4(x[0], x[1], x[2], x[3]);
}
#else
__device__ __forceinline__ float4 load_x4(const X* from, s32 k, s32 count) { return load4<X_TOGETHER>(from, k, count); }
#endif

// Null where there is nothing to read.
__device__ __forceinline__ const X* vector_of(const RecurrentInputsParams& p, s32 vector, s32 direction) {
  const s32 t = p.first + vector / BATCH;
  if (vector >= VECTORS || t >= STEPS) return nullptr;
  const Sequence sequence(p.lengths, vector % BATCH, direction);
  return t < sequence.length ? (const X*)p.x + sequence.row(t) * INPUT : nullptr;
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ RecurrentInputsParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 row0 = blockIdx.x % ROW_TILES * TILE, vector0 = blockIdx.x / ROW_TILES % VECTOR_TILES * TILE;
  const s32 direction = blockIdx.x / (ROW_TILES * VECTOR_TILES);
  // What this thread brings: a quarter of a chunk of one row and of one vector.
  const s32 g = threadIdx.x % 4, place = threadIdx.x / 4 % TILE, chunk = threadIdx.x / (4 * TILE);
  const f32* w = p.weights + ((s64)direction * ROWS + min(row0 + place, ROWS - 1)) * INPUT;
  const X* x = vector_of(p, vector0 + place, direction);
  const s32 row = threadIdx.x / 4 % (TILE / 4), vector = threadIdx.x / TILE;
  LaneTile<4> tile;
  for (s32 k0 = 0; k0 < INPUT; k0 += CHUNKS_EACH * LANES) {
    const s32 k = k0 + chunk * LANES + 4 * g;
    const float4 next_row = load4<W_TOGETHER>(w, k, INPUT), next_vector = load_x4(x, k, x != nullptr ? INPUT : 0);
    __syncthreads();
    rows[chunk][place][g] = next_row, vectors[chunk][place][g] = next_vector;
    __syncthreads();
#pragma unroll
    for (s32 c = 0; c < CHUNKS_EACH; ++c) {
      float4 a[4], b[4];
#pragma unroll
      for (s32 i = 0; i < 4; ++i) a[i] = rows[c][row + i * (TILE / 4)][g], b[i] = vectors[c][vector + i * (TILE / 4)][g];
      tile.add(a, b);
    }
  }
  f32 sums[4];
  tile.fold(sums);
  const s32 mine = row0 + row + g * (TILE / 4);
  if (mine >= ROWS) return;
#pragma unroll
  for (s32 i = 0; i < 4; ++i) {
    const s32 v = vector0 + vector + i * (TILE / 4);
    const f32 product = CODES ? f32_mul(sums[i], p.multipliers[(s64)direction * ROWS + mine]) : sums[i];
    const f32 sum = BIAS ? f32_add(product, p.bias[(s64)direction * 2 * ROWS + mine]) : product;
    if (v < VECTORS) p.sums[((s64)direction * VECTORS + v) * ROWS + mine] = sum;
  }
}
