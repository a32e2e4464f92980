// SPDX-License-Identifier: Apache-2.0
// Products of two values of 16 bits that a run brings, on tensor cores with sums in f32. Operands lie in shared memory as they do in memory; matrices whose neighbours are not of k are turned on the way to registers.
#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/halves.cuh"

using namespace octet::cuda;
using namespace octet::cuda::product_halves;

constexpr Spec s = Made::spec();
PRODUCT_HALVES_RULES(OCTET_RULE_ASSERT)

constexpr s32 kThreads = threads(s), kTilesM = s.tile.tiles_m, kTilesN = s.tile.tiles_n, kStages = s.tile.stages, kKTiles = k_tiles(s);
constexpr s32 kPitchA = pitch(s.a, bm(s)), kPitchB = pitch(s.b, bn(s));

typedef f32 Sums[kTilesM][kTilesN][4];

struct OperandA {
  static constexpr Operand spec() { return Made::spec().a; }
  static constexpr s32 kExtent = bm(Made::spec()), kCount = Made::spec().m;
};
struct OperandB {
  static constexpr Operand spec() { return Made::spec().b; }
  static constexpr s32 kExtent = bn(Made::spec()), kCount = Made::spec().n;
};

// What is not there is zero.
template <class Own>
__device__ __forceinline__ void load_tile(u8* to, const u8* from, s32 first, s32 k0) {
  constexpr Operand o = Own::spec();
  constexpr s32 kRows = o.along_k ? Own::kExtent : kBk, kAccess = o.access, kOfRow = 2 * (o.along_k ? kBk : Own::kExtent) / kAccess;
  constexpr s32 kPieces = kRows * kOfRow;
  const s32 row0 = o.along_k ? first : k0, column0 = o.along_k ? k0 : first;
#pragma unroll
  for (s32 i = 0; i < ceil_div_s32(kPieces, kThreads); ++i) {
    const s32 piece = i * kThreads + threadIdx.x, row = piece / kOfRow, byte = piece % kOfRow * kAccess;
    if (kPieces % kThreads != 0 && piece >= kPieces) break;
    const bool there = row0 + row < (o.along_k ? Own::kCount : s.k) && 2 * column0 + byte < 2 * (o.along_k ? s.k : Own::kCount);
    u8* at = to + row * pitch(o, Own::kExtent) + byte;
    const u8* source = there ? from + ((s64)(row0 + row) * o.stride + column0) * 2 + byte : from;
    if constexpr (kAccess == 2) {
      *(u16*)at = there ? *(const u16*)source : (u16)0;
    } else {
      copy_async_or_zero<kAccess>(at, source, there);
    }
  }
}

// 16 rows by 16 of k.
__device__ __forceinline__ void read_a(u32 (&to)[4], const u8* tile, s32 row, s32 k) {
  const s32 lane = threadIdx.x % 32;
  if constexpr (s.a.along_k) {
    ldmatrix4(to, tile + (row + lane % 16) * kPitchA + (k + lane / 16 * 8) * 2);
  } else {
    ldmatrix4_turned(to, tile + (k + lane % 8 + lane / 16 * 8) * kPitchA + (row + lane / 8 % 2 * 8) * 2);
  }
}
// 16 of k by two tiles of 8 columns: to[0], to[1] are the first.
__device__ __forceinline__ void read_b(u32 (&to)[4], const u8* tile, s32 column, s32 k) {
  const s32 lane = threadIdx.x % 32;
  if constexpr (s.b.along_k) {
    ldmatrix4(to, tile + (column + lane / 16 * 8 + lane % 8) * kPitchB + (k + lane / 8 % 2 * 8) * 2);
  } else {
    ldmatrix4_turned(to, tile + (k + lane % 16) * kPitchB + (column + lane / 16 * 8) * 2);
  }
}

__device__ __forceinline__ void multiply(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  const u32 b[2] = {b0, b1};
  if constexpr (s.f16) {
    mma_f16(d, a, b);
  } else {
    mma_bf16(d, a, b);
  }
}

__device__ __forceinline__ void multiply_stage(Sums& acc, const u8* a, const u8* b, s32 row, s32 column) {
#pragma unroll
  for (s32 k = 0; k < kBk; k += 16) {
    u32 fa[kTilesM][4];
#pragma unroll
    for (s32 i = 0; i < kTilesM; ++i) read_a(fa[i], a, row + i * 16, k);
#pragma unroll
    for (s32 j = 0; j < kTilesN; j += 2) {
      u32 fb[4];
      read_b(fb, b, column + j * 8, k);
#pragma unroll
      for (s32 i = 0; i < kTilesM; ++i) {
        multiply(acc[i][j], fa[i], fb[0], fb[1]);
        multiply(acc[i][j + 1], fa[i], fb[2], fb[3]);
      }
    }
  }
}

__device__ __forceinline__ void store(u8* y, const Sums& acc, s32 first_row, s32 first_column) {
  const s32 lane = threadIdx.x % 32;
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 row = first_row + i * 16 + half * 8 + lane / 4;
#pragma unroll
      for (s32 j = 0; j < kTilesN; ++j) {
        const s32 column = first_column + j * 8 + lane % 4 * 2;
        if (row >= s.m || column >= s.n) continue;
        const s64 at = (s64)row * s.n + column;
        const f32 even = acc[i][j][2 * half], odd = acc[i][j][2 * half + 1];
        if constexpr (s.y_pairs) {
          store_pair<s.y, s.rounded>(y, at, {even, odd});
        } else {
          store_real<s.y, s.rounded>(y, at, even);
          if (column + 1 < s.n) store_real<s.y, s.rounded>(y, at + 1, odd);
        }
      }
    }
}

extern __shared__ __align__(128) u8 shared_memory[];

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 warp = threadIdx.x / 32, row = warp % s.tile.warps_m * 16 * kTilesM, column = warp / s.tile.warps_m * 8 * kTilesN;
  const s32 n0 = blockIdx.x % n_tiles(s) * bn(s), m0 = blockIdx.x / n_tiles(s) % m_tiles(s) * bm(s);
  s64 batch = blockIdx.x / (n_tiles(s) * m_tiles(s));
  const u8 *a = (const u8*)p.a, *b = (const u8*)p.b;
  u8* y = (u8*)p.y;
#pragma unroll
  for (s32 d = 0; d < s.batches.count; ++d) {
    const BatchAxis axis = s.batches.at[d];
    const s64 i = batch % axis.size;
    batch /= axis.size;
    a += i * axis.a * 2, b += i * axis.b * 2, y += i * axis.y * bytes_of(s.y);
  }
  Sums acc = {};
#pragma unroll
  for (s32 stage = 0; stage < kStages - 1; ++stage) {
    if (stage < kKTiles) {
      load_tile<OperandA>(shared_memory + stage * stage_bytes(s), a, m0, stage * kBk);
      load_tile<OperandB>(shared_memory + stage * stage_bytes(s) + a_bytes(s), b, n0, stage * kBk);
    }
    copy_async_commit();
  }
#pragma unroll 1
  for (s32 tile = 0; tile < kKTiles; ++tile) {
    copy_async_wait<kStages - 2>();
    __syncthreads();
    const s32 next = tile + kStages - 1;
    if (next < kKTiles) {
      u8* stage = shared_memory + next % kStages * stage_bytes(s);
      load_tile<OperandA>(stage, a, m0, next * kBk);
      load_tile<OperandB>(stage + a_bytes(s), b, n0, next * kBk);
    }
    copy_async_commit();
    const u8* stage = shared_memory + tile % kStages * stage_bytes(s);
    multiply_stage(acc, stage, stage + a_bytes(s), row, column);
  }
  store(y, acc, m0 + row, n0 + column);
}
