// SPDX-License-Identifier: Apache-2.0
// What a block knows of its work, and how queries, keys and values come into shared memory.
#pragma once

#include "backends/cuda/device/epilogue.cuh"
#include "backends/cuda/device/warpgroup.cuh"
#include "backends/cuda/device/math.cuh"
#include "backends/cuda/device/shares.cuh"

using namespace octet::cuda;
using namespace octet::cuda::attention;

constexpr Spec s = Made::spec();
ATTENTION_RULES(OCTET_RULE_ASSERT)

constexpr s32 kQueries = s.queries, kKeys = s.keys, kHead = s.head, kSplit = s.tile.split, kParts = s.tile.parts;
constexpr s32 kTeams = s.tile.teams, kTeamThreads = 128 * kSplit, kSwapBytes = swap_bytes(s), kRowsBytes = rows_bytes(s);
constexpr s32 kThreads = threads(s), kTiles = tiles(s), kTilesOfPart = tiles_of_part(s);
constexpr s32 kPaddedKeys = s.tile.keys, kOwnKeys = own_keys(s), kChunks = kOwnKeys / 64, kDepths = depths(s);
constexpr s32 kOffValues = memory(s).values, kOffQueries = memory(s).queries, kOffSwap = memory(s).swap, kOffKeyTerms = memory(s).key_terms;
constexpr s32 kOffValueTerms = memory(s).value_terms, kOffMask = memory(s).mask, kOffRows = memory(s).rows;
constexpr u32 kOnes = 0x01010101u;
constexpr s32 kMagic = 0x4B400000;  // as a float 2^23 + 2^22: integers near it are floats at a distance of 1
constexpr s32 kSharesZero = s.shares.zero_point, kQueriesZero = s.q.zero_point;
constexpr s32 kKeysZero = s.k.is_signed ? s.k.zero_point : s.k.zero_point - 128;  // as signed codes
constexpr bool kKeyTerms = kQueriesZero != 0;  // else a key adds nothing to its scores
constexpr s32 kValuesZero = s.v.is_signed ? s.v.zero_point : s.v.zero_point - 128;

extern __shared__ u8 shared_memory[];

// Byte of a tile of rows of 64 bytes, swizzled as products read it.
__device__ __forceinline__ u32 place_in_tile(s32 row, s32 byte) { return row * 64 + (byte ^ (row >> 1 & 3) << 4); }
// Of a warpgroup's own keys.
__device__ __forceinline__ s32 key_of(s32 wg, s32 own) { return kSplit == 1 ? own : own / 8 * 16 + wg * 8 + own % 8; }
__device__ __forceinline__ s32 row_of_key(s32 key) { return kSplit == 1 ? key : key / 8 % 2 * kOwnKeys + key / 16 * 8 + key % 8; }
// Codes times ones, of one word.
template <bool kSigned>
__device__ __forceinline__ s32 add_codes(u32 word, s32 sum) {
  if constexpr (kSigned) return dot4_s8s8(word, kOnes, sum);
  return dot4_u8s8(word, kOnes, sum);
}

struct Team {
  u8* base;
  u32 memory;
  s32 number, wg, q, row;  // row and row + 8 of a tile are the thread's
  __device__ __forceinline__ void meet() const { threads_meet<kTeamThreads>(1 + number); }
};

struct Heads {
  const u8 *queries, *keys, *values;
  const f32* mask;
  u8* y;
};

template <s32 kVec>
__device__ __forceinline__ void load_piece(u8* to, const u8* from) {
  if constexpr (kVec == 16) {
    copy_async16(to, from);
  } else if constexpr (kVec == 8) {
    copy_async8(to, from);
  } else if constexpr (kVec == 4) {
    copy_async4(to, from);
  } else {
    *to = *from;
  }
}

// Rows of kHead codes into tiles of 64 bytes of depth; what is not there is zero. `to_row(row)` is where a row lies; so many rows further, a
// multiple of 16, what is added to it does not depend on the row.
template <s32 kVec, s32 kRows, s32 kThreads, class ToRow>
__device__ __forceinline__ void load_codes_of(u8* to, const u8* from, s64 stride, s32 first, s32 count, s32 thread, const ToRow& to_row) {
  constexpr s32 kEach = kDepths * 64 / kVec, kStep = kThreads / kEach;
  const u32 own = thread / kEach, byte = thread % kEach * kVec;
  u8* const place = to + byte / 64 * kRows * 64 + place_in_tile(to_row(own), byte % 64);
#pragma unroll
  for (s32 step = 0; step < kRows; step += kStep) {
    u8* at = kStep % 16 == 0 ? place + to_row(step) * 64 : to + byte / 64 * kRows * 64 + place_in_tile(to_row(own + step), byte % 64);
    const s32 row = first + own + step;
    if (row < count && byte < kHead) {
      load_piece<kVec>(at, from + row * stride + byte);
    } else {
#pragma unroll
      for (s32 b = 0; b < kVec; ++b) at[b] = 0;
    }
  }
}

__device__ __forceinline__ void load_queries(const Team& team, const Heads& heads, s32 tile) {
  load_codes_of<s.q.access, 64, kTeamThreads>(team.base + kOffQueries + team.number * kDepths * kTileBytes, heads.queries, s.q.row, tile * 64, kQueries,
                                 threadIdx.x % kTeamThreads, [](s32 row) { return row; });
  copy_async_commit();
}

__device__ __forceinline__ u32 four_values(const u8* from) {
  if constexpr (s.v.access >= 4) return *(const u32*)from;
  return from[0] | from[1] << 8 | from[2] << 16 | (u32)from[3] << 24;
}

// Values turned: a row is a channel, row 8j + 2q + e of 64 channel 16q + 2j + e, so that a thread stores neighbours. In each tile of 64 own keys
// a thread has the same words: four channels of own keys 16i + 2q, the next, and 8 further.
__device__ __forceinline__ void load_values(u8* to, const u8* from) {
  constexpr s32 kFours = kDepths * 16, kWords = kThreads / kFours;
  const s32 n = threadIdx.x % kFours * 4;
  u8* const own_to = to + n / 64 * (kPaddedKeys / 64) * kTileBytes;
#pragma unroll
  for (s32 pass = 0; pass < 16 / kWords; ++pass) {
    const s32 word = pass * kWords + threadIdx.x / kFours, own = word / 4 * 16 + word % 4 * 2;
    s32 places[4];
#pragma unroll
    for (s32 k = 0; k < 4; ++k) places[k] = place_in_tile((n + k) % 16 / 2 * 8 + n % 64 / 16 * 2 + k % 2, word * 4);
#pragma unroll
    for (s32 tile = 0; tile < kPaddedKeys / 64; ++tile) {
      const s32 wg = tile / kChunks, first = tile % kChunks * 64;
      u32 w[4], turned[4];
#pragma unroll
      for (s32 k = 0; k < 4; ++k) {
        const s32 key = key_of(wg, first) + key_of(0, own) + k / 2 * (8 * kSplit) + k % 2;
        w[k] = key < kKeys && n < kHead ? four_values(from + (s64)key * s.v.row + n) ^ (s.v.is_signed ? 0 : 0x80808080u) : 0;
      }
      turn_bytes(turned, w[0], w[1], w[2], w[3]);
#pragma unroll
      for (s32 k = 0; k < 4; ++k) *(u32*)(own_to + tile * kTileBytes + places[k]) = turned[k];
    }
  }
}

// Keys become signed. What a key adds to its scores: less the zero point of queries times its codes.
__device__ __forceinline__ void finish_keys(u8* base) {
  if constexpr (!kKeyTerms && s.k.is_signed) return;
  for (s32 row = threadIdx.x; row < kPaddedKeys; row += kThreads) {
    s32 sum = 0;
    for (s32 i = 0; i < kDepths * 4; ++i) {
      uint4* codes = (uint4*)(base + i / 4 * kPaddedKeys * 64 + place_in_tile(row, i % 4 * 16));
      uint4 c = *codes;
      if (!s.k.is_signed) c.x ^= 0x80808080u, c.y ^= 0x80808080u, c.z ^= 0x80808080u, c.w ^= 0x80808080u;
      if (16 * i < kHead) sum = add_codes<true>(c.x, add_codes<true>(c.y, add_codes<true>(c.z, add_codes<true>(c.w, sum))));
      *codes = c;
    }
    if constexpr (kKeyTerms) ((s32*)(base + kOffKeyTerms))[row] = kMagic - kQueriesZero * sum;
  }
}

// The same of values: of each channel, for the zero point of shares.
__device__ __forceinline__ void finish_values(u8* base) {
  if constexpr (kSharesZero == 0) return;
  for (s32 row = threadIdx.x; row < kDepths * 64; row += kThreads) {
    s32 sum = 0;
    for (s32 i = 0; i < kPaddedKeys / 4; ++i)
      sum = add_codes<true>(*(const u32*)(base + kOffValues + (row / 64 * (kPaddedKeys / 64) + i / 16) * kTileBytes + place_in_tile(row % 64, i % 16 * 4)), sum);
    ((s32*)(base + kOffValueTerms))[row] = -kSharesZero * sum;
  }
}

// Of own keys, where all queries have one.
__device__ __forceinline__ void load_mask(u8* base, const f32* from) {
  if constexpr (!shares_mask(s)) return;
  for (s32 key = threadIdx.x; key < kPaddedKeys; key += kThreads)
    ((f32*)(base + kOffMask))[row_of_key(key)] = key < kKeys ? from[(s64)key * s.mask_key] : 0.0f;
}

// Sums of the codes of the thread's two queries, less their zero points.
__device__ __forceinline__ void sums_of_queries(const Team& team, s32 (&sums)[2]) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    s32 sum = 0;
#pragma unroll
    for (s32 d = 0; d < kDepths; ++d) {
      const uint4 c = *(const uint4*)(team.base + kOffQueries + (team.number * kDepths + d) * kTileBytes + place_in_tile(team.row + 8 * half, team.q * 16));
      sum = add_codes<s.q.is_signed>(c.x, add_codes<s.q.is_signed>(c.y, add_codes<s.q.is_signed>(c.z, add_codes<s.q.is_signed>(c.w, sum))));
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    sums[half] = sum + __shfl_xor_sync(~0u, sum, 2) - kHead * kQueriesZero;
  }
}
