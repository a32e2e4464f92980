// SPDX-License-Identifier: Apache-2.0
// Steps of LSTM, GRU and RNN (ops/shared/recurrent.cc), from what recurrent_inputs.cu has made of x. A block walks some sequences of one
// direction: all units of them, step after step, or some units for one step, where the next launch takes the next one. Weights that no longer fit
// into shared memory, nor into registers, are read where they lie. Constants, beside those of recurrent.cu:
//   GATES                  4: LSTM (order i, o, f, c), 3: GRU (z, r, h), 1: RNN; LINEAR: the reset gate acts on what the weights make of the state
//   HIDDEN, UNITS          units of a direction, and of a block; STEPS_EACH: steps of a launch, 1 where a block has not all units
//   SEQUENCES, EACH        of a block, and of a tile (1, 2, 4)
//   AT_ONCE                steps that p.from_input has
//   THREADS, SHARED_CHUNKS of the weights' rows, pieces of 16 elements that lie in shared memory
//   KEPT_CHUNKS            pieces behind those that lie in registers of the threads that multiply them, of which each has one tile
//   F0, F1, F2             functions of x; d is the direction
//   CLIP, CLIP_AT, BIAS, PEEPHOLES, INPUT_FORGET, WRITES_Y
//   R_TOGETHER, R_CONSTANT four neighbours of the weights are one access; they were there before this run
//   STATE_SCALE            of the codes that a state is rounded to where it is multiplied
//   REPORTS                lengths may be wrong: what Report keeps of the first is told to p.outside
#define CHUNKS ((HIDDEN + LANES - 1) / LANES)
#define BLOCK_ROWS (GATES * UNITS)
#define UNIT_BLOCKS ((HIDDEN + UNITS - 1) / UNITS)
#define GROUPS ((BATCH + SEQUENCES - 1) / SEQUENCES)
#define ITEMS ((SEQUENCES * UNITS + THREADS - 1) / THREADS)
#define GATES_FIRST (GATES == 3 && !LINEAR)  // the third product is one with what the second gate makes of the state

extern __shared__ float4 shared_memory[];
#define WEIGHTS shared_memory  // [SHARED_CHUNKS][BLOCK_ROWS][4]
#define STATES (WEIGHTS + SHARED_CHUNKS * BLOCK_ROWS * 4)  // [SEQUENCES][CHUNKS][4]
#define RESETS (STATES + SEQUENCES * CHUNKS * 4)  // the same, times the reset gate
#define SUMS ((f32*)(RESETS + GATES_FIRST * SEQUENCES * CHUNKS * 4))  // [SEQUENCES][BLOCK_ROWS]

// What of a state is multiplied: NaN has the code of 0.
__device__ __forceinline__ f32 factor(f32 state) {
#if CODES
  return (f32)clamp_s32(rne(f32_div(state, STATE_SCALE)), -127, 127);
#else
  return state;
#endif
}

struct Block {
  s32 d, first_unit, first_sequence;
  __device__ __forceinline__ Block()
      : d(blockIdx.x / (UNIT_BLOCKS * GROUPS)),
        first_unit(blockIdx.x % UNIT_BLOCKS * UNITS),
        first_sequence(blockIdx.x / UNIT_BLOCKS % GROUPS * SEQUENCES) {}
  // Of the block's row i in the weights.
  __device__ __forceinline__ const f32* weights(const RecurrentStepsParams& p, s32 i) const {
    const s32 row = i / UNITS * HIDDEN + min(first_unit + i % UNITS, HIDDEN - 1);
    return p.weights + ((s64)d * GATES * HIDDEN + row) * HIDDEN;
  }
  __device__ __forceinline__ s64 state_at(s32 n) const { return (BATCH_FIRST ? (s64)n * DIRECTIONS + d : (s64)d * BATCH + n) * HIDDEN; }
};

// One unit of one sequence, which stays one thread's.
struct Item {
  bool there;
  s32 v, u, unit;  // places in the block; the unit of the direction
  Sequence sequence;
  f32 h, c, z;
  f32 bias[GATES], from_input[GATES];
#if CODES
  f32 multipliers[GATES];
#endif
};

__device__ __forceinline__ f32 clipped(f32 x) { return CLIP ? bounded(x, -CLIP_AT, CLIP_AT) : x; }
__device__ __forceinline__ f32 function_0(f32 x, s32 d) { return F0; }
#if GATES > 1
__device__ __forceinline__ f32 function_1(f32 x, s32 d) { return F1; }
#endif
#if GATES == 4
__device__ __forceinline__ f32 function_2(f32 x, s32 d) { return F2; }
#endif

__device__ __forceinline__ void keep_weights(const RecurrentStepsParams& p, const Block& block) {
  for (s32 i = threadIdx.x; i < SHARED_CHUNKS * BLOCK_ROWS * 4; i += THREADS)
    WEIGHTS[i] = load4<R_TOGETHER>(block.weights(p, i / 4 % BLOCK_ROWS), i / (4 * BLOCK_ROWS) * LANES + i % 4 * 4, HIDDEN);
}

__device__ __forceinline__ void load_states(const RecurrentStepsParams& p, const Block& block) {
  f32* states = (f32*)STATES;
  for (s32 i = threadIdx.x; i < SEQUENCES * CHUNKS * LANES; i += THREADS) {
    const s32 n = block.first_sequence + i / (CHUNKS * LANES), unit = i % (CHUNKS * LANES);
    const bool there = p.h_in != nullptr && n < BATCH && unit < HIDDEN;
    states[i] = there ? factor(p.h_in[block.state_at(n) + unit]) : 0.0f;
    if (GATES_FIRST) ((f32*)RESETS)[i] = 0.0f;
  }
}

__device__ __forceinline__ void load_item(const RecurrentStepsParams& p, const Block& block, s32 i, Item& item) {
  item.v = i / UNITS, item.u = i % UNITS, item.unit = block.first_unit + item.u;
  const s32 n = block.first_sequence + item.v;
  item.there = item.v < SEQUENCES && n < BATCH && item.unit < HIDDEN;
  if (!item.there) return;
  item.sequence = Sequence(p.lengths, n, block.d);
  const s64 at = block.state_at(n) + item.unit;
  item.h = p.h_in != nullptr ? p.h_in[at] : 0.0f;
  item.c = GATES == 4 && p.c_in != nullptr ? p.c_in[at] : 0.0f;
#pragma unroll
  for (s32 gate = 0; gate < GATES; ++gate) {
#if CODES
    item.multipliers[gate] = p.multipliers[((s64)DIRECTIONS + block.d) * GATES * HIDDEN + gate * HIDDEN + item.unit];
#endif
    item.bias[gate] = BIAS ? p.bias[((s64)block.d * 2 + 1) * GATES * HIDDEN + gate * HIDDEN + item.unit] : 0.0f;
  }
}

__device__ __forceinline__ void load_sums_of_input(const RecurrentStepsParams& p, const Block& block, s32 step, Item& item) {
  if (!item.there) return;
  const f32* from = p.from_input + (((s64)block.d * AT_ONCE + step) * BATCH + item.sequence.n) * (GATES * HIDDEN) + item.unit;
#pragma unroll
  for (s32 gate = 0; gate < GATES; ++gate) item.from_input[gate] = from[gate * HIDDEN];
}

// Four of the block's rows [kFirst, kFirst + kCount) and EACH of its vectors. Threads without one of their own do what another does.
template <s32 kFirst, s32 kCount>
struct Tile {
  enum : s32 { kRowTiles = (kCount + 3) / 4, kTiles = kRowTiles * (SEQUENCES / EACH) };
  s32 row, v0, at[4];
  bool own;

  __device__ __forceinline__ explicit Tile(s32 wanted) : own(wanted < kTiles) {
    const s32 tile = min(wanted, kTiles - 1);
    row = tile % kRowTiles, v0 = tile / kRowTiles * EACH;
#pragma unroll
    for (s32 i = 0; i < 4; ++i) at[i] = kFirst + min(row + i * kRowTiles, kCount - 1);
  }
};

struct KeptRows {
#if KEPT_CHUNKS
  float4 rows[KEPT_CHUNKS][4];
#endif
  __device__ __forceinline__ void load(const RecurrentStepsParams& p, const Block& block) {
#if KEPT_CHUNKS
    const Tile<0, BLOCK_ROWS> tile(threadIdx.x / 4);
#pragma unroll
    for (s32 i = 0; i < 4 * KEPT_CHUNKS; ++i)
      rows[i / 4][i % 4] = load4<R_TOGETHER>(block.weights(p, tile.at[i % 4]), (SHARED_CHUNKS + i / 4) * LANES + threadIdx.x % 4 * 4, HIDDEN);
#endif
  }
};

template <s32 kFirst, s32 kCount>
__device__ __forceinline__ void multiply(const RecurrentStepsParams& p, const Block& block, const KeptRows& kept, const float4* vectors) {
  const s32 g = threadIdx.x % 4;
  for (s32 first = 0; first < Tile<kFirst, kCount>::kTiles; first += THREADS / 4) {
    const Tile<kFirst, kCount> tile(first + threadIdx.x / 4);
    const s32 v0 = tile.v0;
    LaneTile<EACH> sum;
    float4 rows[4], x[EACH];
#pragma unroll 2
    for (s32 chunk = 0; chunk < SHARED_CHUNKS; ++chunk) {
#pragma unroll
      for (s32 i = 0; i < 4; ++i) rows[i] = WEIGHTS[(chunk * BLOCK_ROWS + tile.at[i]) * 4 + g];
#pragma unroll
      for (s32 v = 0; v < EACH; ++v) x[v] = vectors[((v0 + v) * CHUNKS + chunk) * 4 + g];
      sum.add(rows, x);
    }
#if KEPT_CHUNKS
#pragma unroll
    for (s32 chunk = 0; chunk < KEPT_CHUNKS; ++chunk) {
#pragma unroll
      for (s32 v = 0; v < EACH; ++v) x[v] = vectors[((v0 + v) * CHUNKS + SHARED_CHUNKS + chunk) * 4 + g];
      sum.add(kept.rows[chunk], x);
    }
#endif
#if SHARED_CHUNKS + KEPT_CHUNKS < CHUNKS
    const f32* from[4];
#pragma unroll
    for (s32 i = 0; i < 4; ++i) from[i] = block.weights(p, tile.at[i]);
#pragma unroll 2
    for (s32 chunk = SHARED_CHUNKS + KEPT_CHUNKS; chunk < CHUNKS; ++chunk) {
#pragma unroll
      for (s32 i = 0; i < 4; ++i) rows[i] = load4<R_TOGETHER>(from[i], chunk * LANES + 4 * g, HIDDEN);
#pragma unroll
      for (s32 v = 0; v < EACH; ++v) x[v] = vectors[((v0 + v) * CHUNKS + chunk) * 4 + g];
      sum.add(rows, x);
    }
#endif
    f32 sums[EACH];
    sum.fold(sums);
    const s32 mine = tile.row + g * Tile<kFirst, kCount>::kRowTiles;
    if (!tile.own || mine >= kCount) continue;
#pragma unroll
    for (s32 v = 0; v < EACH; ++v) SUMS[(v0 + v) * BLOCK_ROWS + kFirst + mine] = sums[v];
  }
}

__device__ __forceinline__ f32 from_state(const Item& item, s32 gate) {
#if CODES
  const f32 sum = f32_mul(SUMS[item.v * BLOCK_ROWS + gate * UNITS + item.u], item.multipliers[gate]);
#else
  const f32 sum = SUMS[item.v * BLOCK_ROWS + gate * UNITS + item.u];
#endif
  return BIAS ? f32_add(sum, item.bias[gate]) : sum;
}
__device__ __forceinline__ f32 sum_of(const Item& item, s32 gate) { return f32_add(item.from_input[gate], from_state(item, gate)); }

#if GATES == 4
__device__ __forceinline__ f32 peephole(const RecurrentStepsParams& p, const Block& block, const Item& item, s32 gate) {
  return PEEPHOLES ? f32_mul(p.peepholes[((s64)block.d * 3 + gate) * HIDDEN + item.unit], item.c) : 0.0f;
}

__device__ __forceinline__ void finish(const RecurrentStepsParams& p, const Block& block, Item& item) {
  const s32 d = block.d;
  const f32 i = function_0(clipped(f32_add(sum_of(item, 0), peephole(p, block, item, 0))), d);
  const f32 f = INPUT_FORGET ? f32_sub(1.0f, i) : function_0(clipped(f32_add(sum_of(item, 2), peephole(p, block, item, 2))), d);
  item.c = f32_add(f32_mul(f, item.c), f32_mul(i, function_1(clipped(sum_of(item, 3)), d)));
  const f32 o = function_0(clipped(f32_add(sum_of(item, 1), peephole(p, block, item, 1))), d);
  item.h = f32_mul(o, function_2(item.c, d));
}
#elif GATES == 3
// What the third product of the state is with.
__device__ __forceinline__ void find_gates(const Block& block, Item& item) {
  item.z = function_0(clipped(sum_of(item, 0)), block.d);
  const f32 r = function_0(clipped(sum_of(item, 1)), block.d);
  ((f32*)RESETS)[item.v * CHUNKS * LANES + item.unit] = factor(f32_mul(r, item.h));
}

__device__ __forceinline__ void finish(const RecurrentStepsParams& p, const Block& block, Item& item) {
  const s32 d = block.d;
#if LINEAR
  item.z = function_0(clipped(sum_of(item, 0)), d);
  const f32 next = f32_add(item.from_input[2], f32_mul(function_0(clipped(sum_of(item, 1)), d), from_state(item, 2)));
#else
  const f32 next = sum_of(item, 2);
#endif
  item.h = f32_add(f32_mul(f32_sub(1.0f, item.z), function_1(clipped(next), d)), f32_mul(item.z, item.h));
}
#else
__device__ __forceinline__ void finish(const RecurrentStepsParams& p, const Block& block, Item& item) {
  item.h = function_0(clipped(sum_of(item, 0)), block.d);
}
#endif

// What step t makes of the block's state.
__device__ __forceinline__ void take_step(const RecurrentStepsParams& p, const Block& block, const KeptRows& kept, s32 t, Item (&items)[ITEMS]) {
  multiply<0, GATES_FIRST ? 2 * UNITS : BLOCK_ROWS>(p, block, kept, STATES);
  __syncthreads();
#if GATES_FIRST
#pragma unroll
  for (s32 i = 0; i < ITEMS; ++i) {
    if (items[i].there) find_gates(block, items[i]);
  }
  __syncthreads();
  multiply<2 * UNITS, UNITS>(p, block, kept, RESETS);
  __syncthreads();
#endif
#pragma unroll
  for (s32 i = 0; i < ITEMS; ++i) {
    Item& item = items[i];
    if (!item.there) continue;
    const bool walks = t < item.sequence.length;
    if (walks) finish(p, block, item);
    const s64 row = item.sequence.row(t);
#if WRITES_Y
    const s64 y = BATCH_FIRST ? row * DIRECTIONS + block.d : (row / BATCH * DIRECTIONS + block.d) * BATCH + row % BATCH;
    p.y[y * HIDDEN + item.unit] = walks ? item.h : 0.0f;
#endif
    if (walks && STEPS_EACH > 1) ((f32*)STATES)[item.v * CHUNKS * LANES + item.unit] = factor(item.h);
  }
  __syncthreads();
}

__device__ __noinline__ void report_lengths(const RecurrentStepsParams& p, const Block& block) {
#if REPORTS
  const s32 n = block.first_sequence + threadIdx.x;
  if (p.first != 0 || block.d != 0 || block.first_unit != 0 || threadIdx.x >= SEQUENCES || n >= BATCH) return;
  const s64 length = (s64)((const LENGTH*)p.lengths)[n];
  if (length >= 0 && length <= STEPS) return;
  atomicMin(p.outside, (u64)n << 32 | (u64)length >> 32);
  atomicMin(p.outside + 1, (u64)n << 32 | (u32)length);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ RecurrentStepsParams p) {
  let_successor_begin();
  const Block block;
  KeptRows kept;
  if (R_CONSTANT) keep_weights(p, block), kept.load(p, block);
  wait_for_predecessor();
  if (!R_CONSTANT) keep_weights(p, block), kept.load(p, block);
  report_lengths(p, block);
  load_states(p, block);
  Item items[ITEMS];
#pragma unroll
  for (s32 i = 0; i < ITEMS; ++i) load_item(p, block, threadIdx.x + i * THREADS, items[i]);
  __syncthreads();
  for (s32 step = 0; step < STEPS_EACH && p.first + step < STEPS; ++step) {
#pragma unroll
    for (s32 i = 0; i < ITEMS; ++i) load_sums_of_input(p, block, p.first_of_input + step, items[i]);
    take_step(p, block, kept, p.first + step, items);
  }
#pragma unroll
  for (s32 i = 0; i < ITEMS; ++i) {
    if (!items[i].there) continue;
    const s64 at = block.state_at(items[i].sequence.n) + items[i].unit;
    if (p.h_out != nullptr) p.h_out[at] = items[i].h;
    if (GATES == 4 && p.c_out != nullptr) p.c_out[at] = items[i].c;
  }
}
