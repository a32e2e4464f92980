// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats: queries by keys, a Softmax of each row of scores, by values, a tile of keys after the other. Scores and powers stay in registers; a row's largest score and its
// sums are carried on, and what was summed before is scaled where a tile has a larger one.
#include "backends/cuda/families/attention_reals/operands.cuh"

// 16 queries of a warp: sums of queries by keys, then powers; sums of powers by values.
typedef f32 Scores[kTilesM][kScoreTiles][4];
typedef f32 Context[kTilesM][kHeadTiles][4];
// Of rows lane / 4 and 8 further, the same in four threads but `sum`, each one's own.
struct Rows {
  f32 most[kTilesM][2], sum[kTilesM][2];
};
typedef u32 Queries[holds_queries(s) ? kTilesM : 1][holds_queries(s) ? kDepths : 1][4];

__device__ __forceinline__ void multiply(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  const u32 b[2] = {b0, b1};
  if constexpr (s.f16) {
    mma_f16(d, a, b);
  } else {
    mma_bf16(d, a, b);
  }
}

// 16 queries by 16 of a head.
__device__ __forceinline__ void read_queries(u32 (&to)[4], const u8* queries, s32 tile, s32 depth) {
  const s32 lane = threadIdx.x % 32;
  ldmatrix4(to, queries + (tile * 16 + lane % 16) * kPitch + depth * 32 + lane / 16 * 16);
}

__device__ __forceinline__ void multiply_keys(Scores& acc, const Queries& held, const u8* queries, const u8* keys) {
  const s32 lane = threadIdx.x % 32;
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 j = 0; j < kScoreTiles; ++j)
#pragma unroll
      for (s32 e = 0; e < 4; ++e) acc[i][j][e] = 0.0f;
#pragma unroll
  for (s32 d = 0; d < kDepths; ++d) {
    u32 own[kTilesM][4];
#pragma unroll
    for (s32 i = 0; i < kTilesM; ++i) {
      if constexpr (holds_queries(s)) {
#pragma unroll
        for (s32 e = 0; e < 4; ++e) own[i][e] = held[i][d][e];
      } else {
        read_queries(own[i], queries, i, d);
      }
    }
#pragma unroll
    for (s32 j = 0; j < kScoreTiles; j += 2) {
      u32 b[4];
      ldmatrix4(b, keys + (j * 8 + lane / 16 * 8 + lane % 8) * kPitch + d * 32 + lane / 8 % 2 * 16);
#pragma unroll
      for (s32 i = 0; i < kTilesM; ++i) {
        multiply(acc[i][j], own[i], b[0], b[1]);
        multiply(acc[i][j + 1], own[i], b[2], b[3]);
      }
    }
  }
}

// In units of log2. A number stays one, however large. Of bytes, whether the score is hidden.
__device__ __forceinline__ f32 mask_at(const u8* mask, s64 at) {
  if constexpr (s.mask.type == Number::u8) return (mask[at] != 0) == s.mask.hides ? 1.0f : 0.0f;
  f32 real = 0.0f;
  if constexpr (s.mask.type == Number::f32) real = ((const f32*)mask)[at];
  if constexpr (s.mask.type == Number::f16) real = half_real(((const u16*)mask)[at], 0);
  if constexpr (s.mask.type == Number::bf16) real = f32_bits((u32)((const u16*)mask)[at] << 16);
  const f32 scaled = f32_mul(real, value_of(s.mask.scale));
  return scaled < kLeast && real >= kLeast ? kLeast : scaled;
}

// f(tile of 16 queries, tile of 8 keys, element, key, row of a thread's two) of all scores.
template <class F>
__device__ __forceinline__ void each_score(s32 first_key, const F& f) {
#pragma unroll
  for (s32 j = 0; j < kScoreTiles; ++j)
#pragma unroll
    for (s32 e = 0; e < 2; ++e)
#pragma unroll
      for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
        for (s32 half = 0; half < 2; ++half) f(i, j, 2 * half + e, first_key + j * 8 + threadIdx.x % 4 * 2 + e, half);
}

__device__ __forceinline__ s32 row_of(s32 first_row, s32 i, s32 half) { return first_row + i * 16 + half * 8 + threadIdx.x % 32 / 4; }

// Scores in units of log2, with the mask.
__device__ __forceinline__ void add_mask(Scores& acc, const Heads& heads, s32 first_row, s32 first_key) {
  f32 of_key = 0.0f;
  each_score(first_key, [&](s32 i, s32 j, s32 e, s32 key, s32 half) {
    const s32 own_key = key < s.keys ? key : s.keys - 1;
    if constexpr (s.mask.row == 0) {
      if (i == 0 && half == 0) of_key = mask_at(heads.mask, own_key * s.mask.key);
    } else {
      const s32 row = row_of(first_row, i, half), own_row = row < s.queries ? row : s.queries - 1;
      of_key = mask_at(heads.mask, own_row * s.mask.row + own_key * s.mask.key);
    }
    if constexpr (s.mask.type == Number::u8) {
      acc[i][j][e] = of_key != 0.0f ? value_of(s.mask.hidden) : f32_mul(acc[i][j][e], value_of(s.scale));
    } else {
      acc[i][j][e] = f32_fma(acc[i][j][e], value_of(s.scale), of_key);
    }
  });
}

__device__ __forceinline__ void leave_out_missing(Scores& acc, s32 first_key) {
  each_score(first_key, [&](s32 i, s32 j, s32 e, s32 key, s32) {
    if (key >= s.keys) acc[i][j][e] = -INFINITY_OF_SCORES;
  });
}

// Of four threads.
template <class Op>
__device__ __forceinline__ f32 of_row(f32 own, const Op& op) {
  own = op(own, __shfl_xor_sync(~0u, own, 1));
  return op(own, __shfl_xor_sync(~0u, own, 2));
}

// In units of log2 where there is a mask; else they become so here. Where all scores of a row were -inf, 0 is subtracted: powers are 0, and so is their sum.
__device__ __forceinline__ f32 base_of(f32 most) {
  const f32 scaled = s.mask.exists ? most : f32_mul(most, value_of(s.scale));
  return most == -INFINITY_OF_SCORES ? 0.0f : scaled;
}
__device__ __forceinline__ f32 power_of(f32 score, f32 base) {
  return power_of_2(s.mask.exists ? f32_add(score, -base) : f32_fma(score, value_of(s.scale), -base));
}

__device__ __forceinline__ void scale_row(f32 (&context)[kHeadTiles][4], s32 half, f32 factor) {
#pragma unroll
  for (s32 n = 0; n < kHeadTiles; ++n)
#pragma unroll
    for (s32 e = 0; e < 2; ++e) context[n][2 * half + e] = f32_mul(context[n][2 * half + e], factor);
}

// Scores become powers of two; sums so far are scaled to the largest score so far.
__device__ __forceinline__ void raise(Scores& acc, Rows& rows, Context& context) {
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      f32 most = rows.most[i][half];
#pragma unroll
      for (s32 j = 0; j < kScoreTiles; ++j) most = larger_number(most, larger_number(acc[i][j][2 * half], acc[i][j][2 * half + 1]));
      most = of_row(most, [](f32 a, f32 b) { return larger_number(a, b); });
      const f32 base = base_of(most), factor = power_of(rows.most[i][half], base);
      rows.most[i][half] = most;
      f32 sum = f32_mul(rows.sum[i][half], factor);
#pragma unroll
      for (s32 j = 0; j < kScoreTiles; ++j)
#pragma unroll
        for (s32 e = 0; e < 2; ++e) {
          const f32 x = power_of(acc[i][j][2 * half + e], base);
          acc[i][j][2 * half + e] = x;
          sum = f32_add(sum, x);
        }
      rows.sum[i][half] = sum;
      scale_row(context[i], half, factor);
    }
}

// Powers, an operand in the registers where they are.
__device__ __forceinline__ void multiply_values(Context& context, const Scores& powers, const u8* values) {
  const s32 lane = threadIdx.x % 32;
#pragma unroll
  for (s32 k = 0; k < kTileKeys / 16; ++k) {
    u32 own[kTilesM][4];
#pragma unroll
    for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
      for (s32 e = 0; e < 4; ++e) {
        const f32(&four)[4] = powers[i][2 * k + e / 2];
        own[i][e] = pair_of(four[e % 2 * 2], four[e % 2 * 2 + 1]);
      }
#pragma unroll
    for (s32 n = 0; n < kHeadTiles; n += 2) {
      u32 b[4];
      ldmatrix4_turned(b, values + (k * 16 + lane % 16) * kPitch + n * 16 + lane / 16 * 16);
#pragma unroll
      for (s32 i = 0; i < kTilesM; ++i) {
        multiply(context[i][n], own[i], b[0], b[1]);
        multiply(context[i][n + 1], own[i], b[2], b[3]);
      }
    }
  }
}

// Reals straight from registers.
__device__ __forceinline__ void store_reals(const Context& context, const Heads& heads, s32 first_row) {
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 row = row_of(first_row, i, half);
#pragma unroll
      for (s32 n = 0; n < kHeadTiles; ++n)
#pragma unroll
        for (s32 e = 0; e < 2; ++e) {
          const s32 channel = n * 8 + threadIdx.x % 4 * 2 + e;
          f32 y = context[i][n][2 * half + e];
          if constexpr (s.rounded == Number::f16) y = half_real(pair_of_f16(y, 0.0f), 0);
          if constexpr (s.rounded == Number::bf16) y = f32_bits(pair_of_bf16(y, 0.0f) << 16);
          if (row < s.queries && channel < s.head) ((f32*)heads.y)[row * s.y_row + channel] = y;
        }
    }
}

__device__ __forceinline__ u32 code_of(f32 y) {
  if constexpr (s.rounded == Number::f16) y = half_real(pair_of_f16(y, 0.0f), 0);
  if constexpr (s.rounded == Number::bf16) y = f32_bits(pair_of_bf16(y, 0.0f) << 16);
  return (u32)quantized(y, value_of(s.codes.scale), value_of(s.codes.reciprocal), s.codes.zero_point, s.codes.lo, s.codes.hi) & 255u;
}

// 16-bit results, or codes, through the place of the warp's queries, so that neighbours are stored together.
__device__ __forceinline__ void store_packed(const Context& context, const Heads& heads, u8* queries, s32 first_row) {
  const s32 lane = threadIdx.x % 32;
  constexpr s32 kBytes = bytes_of(s.y);
  __syncwarp();
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half)
#pragma unroll
      for (s32 n = 0; n < kHeadTiles; ++n) {
        const f32 low = context[i][n][2 * half], high = context[i][n][2 * half + 1];
        u8* at = queries + (i * 16 + half * 8 + lane / 4) * kPitch + (n * 8 + lane % 4 * 2) * kBytes;
        if constexpr (is_code(s.y)) {
          *(u16*)at = (u16)(code_of(low) | code_of(high) << 8);
        } else {
          *(u32*)at = s.y == Number::f16 ? pair_of_f16(low, high) : pair_of_bf16(low, high);
        }
      }
  __syncwarp();
  constexpr s32 kOfRow = s.head * kBytes / s.y_access, kPieces = 16 * kTilesM * kOfRow;
  for (s32 piece = lane; piece < kPieces; piece += 32) {
    const s32 row = piece / kOfRow, byte = piece % kOfRow * s.y_access;
    if (first_row + row >= s.queries) break;
    const u8* from = queries + row * kPitch + byte;
    u8* to = heads.y + (first_row + row) * s.y_row * kBytes + byte;
    if constexpr (s.y_access == 16) *(uint4*)to = *(const uint4*)from;
    if constexpr (s.y_access == 8) *(uint2*)to = *(const uint2*)from;
    if constexpr (s.y_access == 4) *(u32*)to = *(const u32*)from;
    if constexpr (s.y_access == 2) *(u16*)to = *(const u16*)from;
    if constexpr (s.y_access == 1) *to = *from;
  }
}

__device__ __forceinline__ void finish(Context& context, const Rows& rows, const Heads& heads, u8* queries, s32 first_row) {
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const f32 sum = of_row(rows.sum[i][half], [](f32 a, f32 b) { return f32_add(a, b); });
      // Without one score that is a number the sum is 0 or NaN.
      const f32 inverse = s.guarded && !(sum > 0.0f) ? 0.0f : f32_div(value_of(s.value_scale), sum);
#pragma unroll
      for (s32 n = 0; n < kHeadTiles; ++n)
#pragma unroll
        for (s32 e = 0; e < 2; ++e) {
          f32& x = context[i][n][2 * half + e];
          x = s.guarded && sum != sum ? 0.0f : f32_mul(x, inverse);
        }
    }
  if constexpr (s.y == Number::f32) {
    store_reals(context, heads, first_row);
  } else {
    store_packed(context, heads, queries, first_row);
  }
}

// What groups behind the first have of their keys, word by word of a warp.
__device__ __forceinline__ f32* told_by(u8* stages, s32 group, s32 q_warp, s32 i) {
  return (f32*)stages + (((group - 1) * s.tile.warps + q_warp) * kTilesM + i) * told_words(s) * 32 + threadIdx.x % 32;
}
__device__ __forceinline__ void tell(f32* to, const f32 (&context)[kHeadTiles][4], const f32 (&most)[2], const f32 (&sum)[2]) {
#pragma unroll
  for (s32 n = 0; n < kHeadTiles; ++n)
#pragma unroll
    for (s32 e = 0; e < 4; ++e) to[(n * 4 + e) * 32] = context[n][e];
#pragma unroll
  for (s32 half = 0; half < 2; ++half) to[(kHeadTiles * 4 + half) * 32] = most[half], to[(kHeadTiles * 4 + 2 + half) * 32] = sum[half];
}
__device__ __forceinline__ void join_told(const f32* from, f32 (&context)[kHeadTiles][4], f32 (&most)[2], f32 (&sum)[2]) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    const f32 other = from[(kHeadTiles * 4 + half) * 32], larger = larger_number(most[half], other), base = base_of(larger);
    const f32 own_factor = power_of(most[half], base), factor = power_of(other, base);
    most[half] = larger;
    sum[half] = f32_fma(from[(kHeadTiles * 4 + 2 + half) * 32], factor, f32_mul(sum[half], own_factor));
#pragma unroll
    for (s32 n = 0; n < kHeadTiles; ++n)
#pragma unroll
      for (s32 e = 0; e < 2; ++e)
        context[n][2 * half + e] = f32_fma(from[(n * 4 + 2 * half + e) * 32], factor, f32_mul(context[n][2 * half + e], own_factor));
  }
}

// In the order of groups, in the first one's threads.
__device__ __forceinline__ void join_groups(u8* stages, s32 group, s32 q_warp, Context& context, Rows& rows) {
  copy_async_wait<0>();
  __syncthreads();
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
    if (group > 0) tell(told_by(stages, group, q_warp, i), context[i], rows.most[i], rows.sum[i]);
  __syncthreads();
  if (group > 0) return;
#pragma unroll 1
  for (s32 other = 1; other < s.tile.split; ++other)
#pragma unroll
    for (s32 i = 0; i < kTilesM; ++i) join_told(told_by(stages, other, q_warp, i), context[i], rows.most[i], rows.sum[i]);
}

extern __shared__ __align__(128) u8 shared_memory[];

extern "C" __global__ void __launch_bounds__(kThreads, blocks_beside(s)) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 q_tile = blockIdx.x % q_tiles(s), warp = threadIdx.x / 32;
  const s32 q_warp = warp % s.tile.warps, group = warp / s.tile.warps;
  const Heads heads = heads_of(p, blockIdx.x / q_tiles(s));
  u8 *const made = shared_memory + rows(s) * kPitch, *const made_values = made + made_bytes(s, s.k);
  u8 *const stages = made_values + made_bytes(s, s.v), *const queries = shared_memory + q_warp * 16 * kTilesM * kPitch;
  const s32 first_row = q_tile * rows(s) + q_warp * 16 * kTilesM;
  load_queries(shared_memory, stages, heads, q_tile * rows(s));
#pragma unroll
  for (s32 tile = 0; tile < kStages - 1; ++tile) {
    if (tile < kKeyTiles) load_keys(stages + tile * kStageBytes, heads, tile);
    copy_async_commit();
  }
  Queries held;
  Context context = {};
  Rows sums;
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) sums.most[i][half] = -INFINITY_OF_SCORES, sums.sum[i][half] = 0.0f;
#pragma unroll 1
  for (s32 tile = 0; tile < kKeyTiles; ++tile) {
    copy_async_wait<kStages - 2>();
    __syncthreads();
    const s32 next = tile + kStages - 1;
    if (next < kKeyTiles) load_keys(stages + next % kStages * kStageBytes, heads, next);
    copy_async_commit();
    const u8 *keys = stages + tile % kStages * kStageBytes, *values = keys + key_bytes(s);
    if constexpr (is_code(s.k.type)) make_floats<OwnKeys, kStageKeys>(made, keys), keys = made;
    if constexpr (is_code(s.v.type)) make_floats<OwnValues, kStageKeys>(made_values, values), values = made_values;
    if constexpr (is_code(s.k.type) || is_code(s.v.type)) __syncthreads();
    keys += group * kTileKeys * kPitch, values += group * kTileKeys * kPitch;
    if constexpr (holds_queries(s)) {
      if (tile == 0) {
#pragma unroll
        for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
          for (s32 d = 0; d < kDepths; ++d) read_queries(held[i][d], queries, i, d);
      }
    }
    const s32 first_key = tile * kStageKeys + group * kTileKeys;
    Scores acc;
    multiply_keys(acc, held, queries, keys);
    if constexpr (s.mask.exists) add_mask(acc, heads, first_row, first_key);
    if (s.keys % kStageKeys != 0 && tile == kKeyTiles - 1) leave_out_missing(acc, first_key);
    raise(acc, sums, context);
    multiply_values(context, acc, values);
  }
  if constexpr (s.tile.split > 1) {
    join_groups(stages, group, q_warp, context, sums);
    if (group > 0) return;
  }
  finish(context, sums, heads, queries, first_row);
}
