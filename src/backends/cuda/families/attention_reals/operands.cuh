// SPDX-License-Identifier: Apache-2.0
// What a block knows of its work, and how queries, keys and values come into shared memory as floats.
#pragma once

#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/functions.cuh"
#include "backends/cuda/device/mma_float.cuh"
#include "backends/cuda/device/powers.cuh"

using namespace octet::cuda;
using namespace octet::cuda::attention_reals;

constexpr Spec s = Made::spec();
ATTENTION_REALS_RULES(OCTET_RULE_ASSERT)

constexpr s32 kThreads = threads(s), kTilesM = s.tile.tiles_m, kTileKeys = s.tile.keys, kKeyTiles = key_tiles(s);
constexpr s32 kStageKeys = stage_keys(s), kPitch = pitch(s), kDepths = depths(s), kStages = s.tile.stages, kStageBytes = stage_bytes(s);
constexpr s32 kScoreTiles = kTileKeys / 8, kHeadTiles = 2 * kDepths;
constexpr f32 kLeast = -3.402823466e+38f;

struct Heads {
  const u8 *queries, *keys, *values, *mask;
  u8* y;
};

__device__ __forceinline__ Heads heads_of(const Params& p, s64 batch) {
  Heads heads = {p.queries, p.keys, p.values, (const u8*)p.mask, (u8*)p.y};
#pragma unroll
  for (s32 d = 0; d < s.batches.count; ++d) {
    const BatchAxis axis = s.batches.at[d];
    const s64 i = batch % axis.size;
    batch /= axis.size;
    heads.queries += i * axis.queries * bytes_of(s.q.type), heads.keys += i * axis.keys * bytes_of(s.k.type);
    heads.values += i * axis.values * bytes_of(s.v.type);
    heads.mask += i * axis.mask * bytes_of(s.mask.type), heads.y += i * axis.y * bytes_of(s.y);
  }
  return heads;
}

using OwnQueries = PartOf<Made, &Spec::q>;
using OwnKeys = PartOf<Made, &Spec::k>;
using OwnValues = PartOf<Made, &Spec::v>;

// Rows `first` and further of `count`; what is not there, of rows and of a head's last 16, is zero.
template <class Own, s32 kRows>
__device__ __forceinline__ void load_rows(u8* to, const u8* from, s32 first, s32 count) {
  constexpr Operand o = Own::spec();
  constexpr s32 kBytes = bytes_of(o.type), kAccess = o.access, kOfRow = kDepths * 16 * kBytes / kAccess, kPieces = kRows * kOfRow;
#pragma unroll
  for (s32 i = 0; i < ceil_div_s32(kPieces, kThreads); ++i) {
    const s32 piece = i * kThreads + threadIdx.x, row = piece / kOfRow, byte = piece % kOfRow * kAccess;
    if (kPieces % kThreads != 0 && piece >= kPieces) break;
    const bool there = first + row < count && byte < s.head * kBytes;
    u8* at = to + row * loaded_pitch(s, o) + byte;
    const u8* source = there ? from + (first + row) * o.row * kBytes + byte : from;
    if constexpr (kAccess == 1) {
      *at = there ? *source : (u8)0;
    } else if constexpr (kAccess == 2) {
      *(u16*)at = there ? *(const u16*)source : (u16)0;
    } else {
      copy_async_or_zero<kAccess>(at, source, there);
    }
  }
}

__device__ __forceinline__ u32 pair_of(f32 low, f32 high) { return s.f16 ? pair_of_f16(low, high) : pair_of_bf16(low, high); }

template <class Own>
__device__ __forceinline__ f32 real_of_code(u32 word, s32 i, s32 column) {
  constexpr Operand o = Own::spec();
  const u8 code = (u8)(word >> (8 * i));
  const f32 real = o.type == Number::s8 ? centered((s8)code, o.zero_point) : centered(code, o.zero_point);
  return s.head % 16 != 0 && column + i >= s.head ? 0.0f : real;
}

// Codes become floats, four at a time.
template <class Own, s32 kRows>
__device__ __forceinline__ void make_floats(u8* to, const u8* from) {
  constexpr s32 kOfRow = kDepths * 4, kPieces = kRows * kOfRow;
#pragma unroll 4
  for (s32 piece = threadIdx.x; piece < kPieces; piece += kThreads) {
    const s32 row = piece / kOfRow, column = piece % kOfRow * 4;
    const u32 word = *(const u32*)(from + row * kDepths * 16 + column);
    uint2 floats;
    floats.x = pair_of(real_of_code<Own>(word, 0, column), real_of_code<Own>(word, 1, column));
    floats.y = pair_of(real_of_code<Own>(word, 2, column), real_of_code<Own>(word, 3, column));
    *(uint2*)(to + row * kPitch + column * 2) = floats;
  }
}

__device__ __forceinline__ void load_keys(u8* stage, const Heads& heads, s32 tile) {
  load_rows<OwnKeys, kStageKeys>(stage, heads.keys, tile * kStageKeys, s.keys);
  load_rows<OwnValues, kStageKeys>(stage + key_bytes(s), heads.values, tile * kStageKeys, s.keys);
}

// Queries that are codes pass through the place of the first stages.
__device__ __forceinline__ void load_queries(u8* queries, u8* passing, const Heads& heads, s32 first) {
  if constexpr (is_code(s.q.type)) {
    load_rows<OwnQueries, rows(s)>(passing, heads.queries, first, s.queries);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    make_floats<OwnQueries, rows(s)>(queries, passing);
    __syncthreads();
  } else {
    load_rows<OwnQueries, rows(s)>(queries, heads.queries, first, s.queries);
  }
}
