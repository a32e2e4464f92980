// SPDX-License-Identifier: Apache-2.0
// Steps of LSTM, GRU and RNN (ops/shared/recurrent.cc), from what recurrent_inputs has made of x. Weights that no longer fit
// into shared memory, nor into registers, are read where they lie.
#include "backends/cuda/device/math.cuh"
#include "backends/cuda/device/recurrent.cuh"

using namespace octet::cuda;
using namespace octet::cuda::recurrent_steps;

constexpr Spec s = Made::spec();
RECURRENT_STEPS_RULES(OCTET_RULE_ASSERT)

using OwnWalk = PartOf<Made, &Spec::walk>;

constexpr s32 kGates = s.gates, kHidden = s.hidden, kUnits = s.units, kSequences = s.sequences, kEach = s.each, kThreads = s.threads;
constexpr s32 kChunks = chunks(s), kBlockRows = block_rows(s), kUnitBlocks = unit_blocks(s), kGroups = groups(s), kItems = items(s);
constexpr s32 kSharedChunks = s.shared_chunks, kKeptChunks = s.kept_chunks;
constexpr bool kGatesFirst = gates_first(s), kCodes = s.walk.codes;

extern __shared__ float4 shared_memory[];
__device__ __forceinline__ float4* shared_weights() { return shared_memory; }  // [kSharedChunks][kBlockRows][4]
__device__ __forceinline__ float4* shared_states() { return shared_weights() + kSharedChunks * kBlockRows * 4; }  // [kSequences][kChunks][4]
// The same, times the reset gate.
__device__ __forceinline__ float4* shared_resets() { return shared_states() + kSequences * kChunks * 4; }
__device__ __forceinline__ f32* shared_sums() { return (f32*)(shared_resets() + kGatesFirst * kSequences * kChunks * 4); }  // [kSequences][kBlockRows]

// What of a state is multiplied: NaN has the code of 0.
__device__ __forceinline__ f32 factor(f32 state) {
  if constexpr (kCodes) return (f32)clamp_s32(rne(f32_div(state, value_of(s.state_scale))), -127, 127);
  return state;
}

struct Block {
  s32 d, first_unit, first_sequence;
  __device__ __forceinline__ Block()
      : d(blockIdx.x / (kUnitBlocks * kGroups)),
        first_unit(blockIdx.x % kUnitBlocks * kUnits),
        first_sequence(blockIdx.x / kUnitBlocks % kGroups * kSequences) {}
  // Of the block's row i in the weights.
  __device__ __forceinline__ const f32* weights(const Params& p, s32 i) const {
    const s32 row = i / kUnits * kHidden + min(first_unit + i % kUnits, kHidden - 1);
    return p.weights + ((s64)d * kGates * kHidden + row) * kHidden;
  }
  __device__ __forceinline__ s64 state_at(s32 n) const { return (s.walk.batch_first ? (s64)n * s.directions + d : (s64)d * s.walk.batch + n) * kHidden; }
};

// One unit of one sequence, which stays one thread's.
struct Item {
  bool there;
  s32 v, u, unit;  // places in the block; the unit of the direction
  Sequence<OwnWalk> sequence;
  f32 h, c, z;
  f32 bias[kGates], from_input[kGates];
  f32 multipliers[kGates];  // of products of codes
};

__device__ __forceinline__ f32 clipped(f32 x) { return s.clip ? bounded(x, -value_of(s.clip_at), value_of(s.clip_at)) : x; }
__device__ __forceinline__ void keep_weights(const Params& p, const Block& block) {
  for (s32 i = threadIdx.x; i < kSharedChunks * kBlockRows * 4; i += kThreads)
    shared_weights()[i] = load4<s.weights_together>(block.weights(p, i / 4 % kBlockRows), i / (4 * kBlockRows) * kLanes + i % 4 * 4, kHidden);
}

__device__ __forceinline__ void load_states(const Params& p, const Block& block) {
  f32* states = (f32*)shared_states();
  for (s32 i = threadIdx.x; i < kSequences * kChunks * kLanes; i += kThreads) {
    const s32 n = block.first_sequence + i / (kChunks * kLanes), unit = i % (kChunks * kLanes);
    const bool there = p.h_in != nullptr && n < s.walk.batch && unit < kHidden;
    states[i] = there ? factor(p.h_in[block.state_at(n) + unit]) : 0.0f;
    if (kGatesFirst) ((f32*)shared_resets())[i] = 0.0f;
  }
}

__device__ __forceinline__ void load_item(const Params& p, const Block& block, s32 i, Item& item) {
  item.v = i / kUnits, item.u = i % kUnits, item.unit = block.first_unit + item.u;
  const s32 n = block.first_sequence + item.v;
  item.there = item.v < kSequences && n < s.walk.batch && item.unit < kHidden;
  if (!item.there) return;
  item.sequence = Sequence<OwnWalk>(p.lengths, n, block.d);
  const s64 at = block.state_at(n) + item.unit;
  item.h = p.h_in != nullptr ? p.h_in[at] : 0.0f;
  item.c = kGates == 4 && p.c_in != nullptr ? p.c_in[at] : 0.0f;
#pragma unroll
  for (s32 gate = 0; gate < kGates; ++gate) {
    if constexpr (kCodes)
      item.multipliers[gate] = p.multipliers[((s64)s.directions + block.d) * kGates * kHidden + gate * kHidden + item.unit];
    item.bias[gate] = s.walk.bias ? p.bias[((s64)block.d * 2 + 1) * kGates * kHidden + gate * kHidden + item.unit] : 0.0f;
  }
}

__device__ __forceinline__ void load_sums_of_input(const Params& p, const Block& block, s32 step, Item& item) {
  if (!item.there) return;
  const f32* from = p.from_input + (((s64)block.d * s.walk.at_once + step) * s.walk.batch + item.sequence.n) * (kGates * kHidden) + item.unit;
#pragma unroll
  for (s32 gate = 0; gate < kGates; ++gate) item.from_input[gate] = from[gate * kHidden];
}

// Four of the block's rows [kFirst, kFirst + kCount) and kEach of its vectors. Threads without one of their own do what another does.
template <s32 kFirst, s32 kCount>
struct Tile {
  enum : s32 { kRowTiles = (kCount + 3) / 4, kTiles = kRowTiles * (kSequences / kEach) };
  s32 row, v0, at[4];
  bool own;

  __device__ __forceinline__ explicit Tile(s32 wanted) : own(wanted < kTiles) {
    const s32 tile = min(wanted, kTiles - 1);
    row = tile % kRowTiles, v0 = tile / kRowTiles * kEach;
#pragma unroll
    for (s32 i = 0; i < 4; ++i) at[i] = kFirst + min(row + i * kRowTiles, kCount - 1);
  }
};

struct KeptRows {
  float4 rows[kKeptChunks > 0 ? kKeptChunks : 1][4];
  __device__ __forceinline__ void load(const Params& p, const Block& block) {
    if constexpr (kKeptChunks > 0) {
      const Tile<0, kBlockRows> tile(threadIdx.x / 4);
#pragma unroll
      for (s32 i = 0; i < 4 * kKeptChunks; ++i)
        rows[i / 4][i % 4] = load4<s.weights_together>(block.weights(p, tile.at[i % 4]), (kSharedChunks + i / 4) * kLanes + threadIdx.x % 4 * 4, kHidden);
    }
  }
};

template <s32 kFirst, s32 kCount>
__device__ __forceinline__ void multiply(const Params& p, const Block& block, const KeptRows& kept, const float4* vectors) {
  const s32 g = threadIdx.x % 4;
  for (s32 first = 0; first < Tile<kFirst, kCount>::kTiles; first += kThreads / 4) {
    const Tile<kFirst, kCount> tile(first + threadIdx.x / 4);
    const s32 v0 = tile.v0;
    LaneTile<kEach> sum;
    float4 rows[4], x[kEach];
#pragma unroll 2
    for (s32 chunk = 0; chunk < kSharedChunks; ++chunk) {
#pragma unroll
      for (s32 i = 0; i < 4; ++i) rows[i] = shared_weights()[(chunk * kBlockRows + tile.at[i]) * 4 + g];
#pragma unroll
      for (s32 v = 0; v < kEach; ++v) x[v] = vectors[((v0 + v) * kChunks + chunk) * 4 + g];
      sum.add(rows, x);
    }
#pragma unroll
    for (s32 chunk = 0; chunk < kKeptChunks; ++chunk) {
#pragma unroll
      for (s32 v = 0; v < kEach; ++v) x[v] = vectors[((v0 + v) * kChunks + kSharedChunks + chunk) * 4 + g];
      sum.add(kept.rows[chunk], x);
    }
    if constexpr (kSharedChunks + kKeptChunks < kChunks) {
      const f32* from[4];
#pragma unroll
      for (s32 i = 0; i < 4; ++i) from[i] = block.weights(p, tile.at[i]);
#pragma unroll 2
      for (s32 chunk = kSharedChunks + kKeptChunks; chunk < kChunks; ++chunk) {
#pragma unroll
        for (s32 i = 0; i < 4; ++i) rows[i] = load4<s.weights_together>(from[i], chunk * kLanes + 4 * g, kHidden);
#pragma unroll
        for (s32 v = 0; v < kEach; ++v) x[v] = vectors[((v0 + v) * kChunks + chunk) * 4 + g];
        sum.add(rows, x);
      }
    }
    f32 sums[kEach];
    sum.fold(sums);
    const s32 mine = tile.row + g * Tile<kFirst, kCount>::kRowTiles;
    if (!tile.own || mine >= kCount) continue;
#pragma unroll
    for (s32 v = 0; v < kEach; ++v) shared_sums()[(v0 + v) * kBlockRows + kFirst + mine] = sums[v];
  }
}

__device__ __forceinline__ f32 from_state(const Item& item, s32 gate) {
  const f32 product = shared_sums()[item.v * kBlockRows + gate * kUnits + item.u];
  const f32 sum = kCodes ? f32_mul(product, item.multipliers[gate]) : product;
  return s.walk.bias ? f32_add(sum, item.bias[gate]) : sum;
}
__device__ __forceinline__ f32 sum_of(const Item& item, s32 gate) { return f32_add(item.from_input[gate], from_state(item, gate)); }

__device__ __forceinline__ f32 peephole(const Params& p, const Block& block, const Item& item, s32 gate) {
  return s.peepholes ? f32_mul(p.peepholes[((s64)block.d * 3 + gate) * kHidden + item.unit], item.c) : 0.0f;
}

__device__ __forceinline__ void finish_lstm(const Params& p, const Block& block, Item& item) {
  const s32 d = block.d;
  const f32 i = Made::function_0(clipped(f32_add(sum_of(item, 0), peephole(p, block, item, 0))), d);
  const f32 f = s.input_forget ? f32_sub(1.0f, i) : Made::function_0(clipped(f32_add(sum_of(item, 2), peephole(p, block, item, 2))), d);
  item.c = f32_add(f32_mul(f, item.c), f32_mul(i, Made::function_1(clipped(sum_of(item, 3)), d)));
  const f32 o = Made::function_0(clipped(f32_add(sum_of(item, 1), peephole(p, block, item, 1))), d);
  item.h = f32_mul(o, Made::function_2(item.c, d));
}

// Of GRU, what the third product of the state is with.
__device__ __forceinline__ void find_gates(const Block& block, Item& item) {
  item.z = Made::function_0(clipped(sum_of(item, 0)), block.d);
  const f32 r = Made::function_0(clipped(sum_of(item, 1)), block.d);
  ((f32*)shared_resets())[item.v * kChunks * kLanes + item.unit] = factor(f32_mul(r, item.h));
}

__device__ __forceinline__ f32 next_of_gru(const Block& block, Item& item) {
  if constexpr (!s.linear) return sum_of(item, 2);
  item.z = Made::function_0(clipped(sum_of(item, 0)), block.d);
  return f32_add(item.from_input[2], f32_mul(Made::function_0(clipped(sum_of(item, 1)), block.d), from_state(item, 2)));
}

__device__ __forceinline__ void finish_gru(const Block& block, Item& item) {
  const f32 next = next_of_gru(block, item);
  item.h = f32_add(f32_mul(f32_sub(1.0f, item.z), Made::function_1(clipped(next), block.d)), f32_mul(item.z, item.h));
}

__device__ __forceinline__ void finish(const Params& p, const Block& block, Item& item) {
  if constexpr (kGates == 4) {
    finish_lstm(p, block, item);
  } else if constexpr (kGates == 3) {
    finish_gru(block, item);
  } else {
    item.h = Made::function_0(clipped(sum_of(item, 0)), block.d);
  }
}

// What step t makes of the block's state.
__device__ __forceinline__ void take_step(const Params& p, const Block& block, const KeptRows& kept, s32 t, Item (&items)[kItems]) {
  multiply<0, kGatesFirst ? 2 * kUnits : kBlockRows>(p, block, kept, shared_states());
  __syncthreads();
  if constexpr (kGatesFirst) {
#pragma unroll
    for (s32 i = 0; i < kItems; ++i) {
      if (items[i].there) find_gates(block, items[i]);
    }
    __syncthreads();
    multiply<2 * kUnits, kUnits>(p, block, kept, shared_resets());
    __syncthreads();
  }
#pragma unroll
  for (s32 i = 0; i < kItems; ++i) {
    Item& item = items[i];
    if (!item.there) continue;
    const bool walks = t < item.sequence.length;
    if (walks) finish(p, block, item);
    const s64 row = item.sequence.row(t);
    if constexpr (s.writes_y) {
      const s64 y = s.walk.batch_first ? row * s.directions + block.d : (row / s.walk.batch * s.directions + block.d) * s.walk.batch + row % s.walk.batch;
      p.y[y * kHidden + item.unit] = walks ? item.h : 0.0f;
    }
    if (walks && s.steps_each > 1) ((f32*)shared_states())[item.v * kChunks * kLanes + item.unit] = factor(item.h);
  }
  __syncthreads();
}

__device__ __noinline__ void report_lengths(const Params& p, const Block& block) {
  if constexpr (!s.reports) return;
  const s32 n = block.first_sequence + threadIdx.x;
  if (p.first != 0 || block.d != 0 || block.first_unit != 0 || threadIdx.x >= kSequences || n >= s.walk.batch) return;
  const s64 length = (s64)((const Element<s.walk.length>*)p.lengths)[n];
  if (length >= 0 && length <= s.walk.steps) return;
  atomicMin(p.outside, (u64)n << 32 | (u64)length >> 32);
  atomicMin(p.outside + 1, (u64)n << 32 | (u32)length);
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  const Block block;
  KeptRows kept;
  if (s.weights_constant) keep_weights(p, block), kept.load(p, block);
  wait_for_predecessor();
  if (!s.weights_constant) keep_weights(p, block), kept.load(p, block);
  report_lengths(p, block);
  load_states(p, block);
  Item items[kItems];
#pragma unroll
  for (s32 i = 0; i < kItems; ++i) load_item(p, block, threadIdx.x + i * kThreads, items[i]);
  __syncthreads();
  for (s32 step = 0; step < s.steps_each && p.first + step < s.walk.steps; ++step) {
#pragma unroll
    for (s32 i = 0; i < kItems; ++i) load_sums_of_input(p, block, p.first_of_input + step, items[i]);
    take_step(p, block, kept, p.first + step, items);
  }
#pragma unroll
  for (s32 i = 0; i < kItems; ++i) {
    if (!items[i].there) continue;
    const s64 at = block.state_at(items[i].sequence.n) + items[i].unit;
    if (p.h_out != nullptr) p.h_out[at] = items[i].h;
    if (kGates == 4 && p.c_out != nullptr) p.c_out[at] = items[i].c;
  }
}
