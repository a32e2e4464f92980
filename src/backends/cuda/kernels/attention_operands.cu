// SPDX-License-Identifier: Apache-2.0
// Of kernels/attention.cu, by whose constants it goes: what a team is, and how queries, keys and values come into shared memory.
#define TEAM (128 * SPLIT)
#define THREADS (TEAM * TEAMS)
#define TILES ((QUERIES + 63) / 64)
#define TILES_OF_PART ((TILES + PARTS - 1) / PARTS)
#define OWN_KEYS (KEYS_PADDED / SPLIT)
#define CHUNKS (OWN_KEYS / 64)
#define DEPTHS ((HEAD + 63) / 64)
#define TILE_BYTES 4096  // 64 rows of 64 bytes
#define OFF_VALUES (DEPTHS * KEYS_PADDED * 64)
#define OFF_QUERIES (2 * OFF_VALUES)
#define OFF_SWAP (OFF_QUERIES + TEAMS * DEPTHS * TILE_BYTES)
#define SWAP_BYTES (SPLIT == 2 ? DEPTHS * 16 * 256 * 4 : 0)
#define OFF_KEY_TERMS (OFF_SWAP + TEAMS * SWAP_BYTES)
#define OFF_VALUE_TERMS (OFF_KEY_TERMS + KEYS_PADDED * 4)
#define OFF_ROWS (OFF_VALUE_TERMS + DEPTHS * 256)
#define ROWS_BYTES (SPLIT == 2 ? 2 * 64 * 48 : 0)
#define ONES 0x01010101u
#define MAGIC 0x4B400000  // as a float 2^23 + 2^22: integers near it are floats at a distance of 1
#define OWN_ZP_K (K_S8 ? ZP_K : ZP_K - 128)
#define OWN_ZP_V (V_S8 ? ZP_V : ZP_V - 128)

extern __shared__ u8 shared_memory[];

// Byte of a tile of rows of 64 bytes, swizzled as products read it.
__device__ __forceinline__ u32 place_in_tile(s32 row, s32 byte) { return row * 64 + (byte ^ (row >> 1 & 3) << 4); }
// Of a warpgroup's own keys.
__device__ __forceinline__ s32 key_of(s32 wg, s32 own) { return SPLIT == 1 ? own : own / 8 * 16 + wg * 8 + own % 8; }
__device__ __forceinline__ s32 row_of_key(s32 key) { return SPLIT == 1 ? key : key / 8 % 2 * OWN_KEYS + key / 16 * 8 + key % 8; }
// Codes times ones, of one word.
template <bool kSigned>
__device__ __forceinline__ s32 add_codes(u32 word, s32 sum) {
  if constexpr (kSigned) return dot4_s8s8(word, ONES, sum);
  return dot4_u8s8(word, ONES, sum);
}

struct Team {
  u8* base;
  u32 memory;
  s32 number, wg, q, row;  // row and row + 8 of a tile are the thread's
  __device__ __forceinline__ void meet() const { threads_meet<TEAM>(1 + number); }
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

// Rows of HEAD codes into tiles of 64 bytes of depth; what is not there is zero. `to_row(row)` is where a row lies; so many rows further, a
// multiple of 16, what is added to it does not depend on the row.
template <s32 kVec, s32 kRows, s32 kThreads, class ToRow>
__device__ __forceinline__ void load_codes_of(u8* to, const u8* from, s64 stride, s32 first, s32 count, s32 thread, const ToRow& to_row) {
  constexpr s32 kEach = DEPTHS * 64 / kVec, kStep = kThreads / kEach;
  const u32 own = thread / kEach, byte = thread % kEach * kVec;
  u8* const place = to + byte / 64 * kRows * 64 + place_in_tile(to_row(own), byte % 64);
#pragma unroll
  for (s32 step = 0; step < kRows; step += kStep) {
    u8* at = kStep % 16 == 0 ? place + to_row(step) * 64 : to + byte / 64 * kRows * 64 + place_in_tile(to_row(own + step), byte % 64);
    const s32 row = first + own + step;
    if (row < count && byte < HEAD) {
      load_piece<kVec>(at, from + row * stride + byte);
    } else {
#pragma unroll
      for (s32 b = 0; b < kVec; ++b) at[b] = 0;
    }
  }
}

__device__ __forceinline__ void load_queries(const Team& team, const Heads& heads, s32 tile) {
  load_codes_of<Q_VEC, 64, TEAM>(team.base + OFF_QUERIES + team.number * DEPTHS * TILE_BYTES, heads.queries, Q_ROW, tile * 64, QUERIES,
                                 threadIdx.x % TEAM, [](s32 row) { return row; });
  copy_async_commit();
}

__device__ __forceinline__ u32 four_values(const u8* from) {
  if constexpr (V_VEC >= 4) return *(const u32*)from;
  return from[0] | from[1] << 8 | from[2] << 16 | (u32)from[3] << 24;
}

// Values turned: a row is a channel, row 8j + 2q + e of 64 channel 16q + 2j + e, so that a thread stores neighbours. In each tile of 64 own keys
// a thread has the same words: four channels of own keys 16i + 2q, the next, and 8 further.
__device__ __forceinline__ void load_values(u8* to, const u8* from) {
  constexpr s32 kFours = DEPTHS * 16, kWords = THREADS / kFours;
  const s32 n = threadIdx.x % kFours * 4;
  u8* const own_to = to + n / 64 * (KEYS_PADDED / 64) * TILE_BYTES;
#pragma unroll
  for (s32 pass = 0; pass < 16 / kWords; ++pass) {
    const s32 word = pass * kWords + threadIdx.x / kFours, own = word / 4 * 16 + word % 4 * 2;
    s32 places[4];
#pragma unroll
    for (s32 k = 0; k < 4; ++k) places[k] = place_in_tile((n + k) % 16 / 2 * 8 + n % 64 / 16 * 2 + k % 2, word * 4);
#pragma unroll
    for (s32 tile = 0; tile < KEYS_PADDED / 64; ++tile) {
      const s32 wg = tile / CHUNKS, first = tile % CHUNKS * 64;
      u32 w[4], turned[4];
#pragma unroll
      for (s32 k = 0; k < 4; ++k) {
        const s32 key = key_of(wg, first) + key_of(0, own) + k / 2 * (8 * SPLIT) + k % 2;
        w[k] = key < KEYS && n < HEAD ? four_values(from + (s64)key * V_ROW + n) ^ (V_S8 ? 0 : 0x80808080u) : 0;
      }
      turn_bytes(turned, w[0], w[1], w[2], w[3]);
#pragma unroll
      for (s32 k = 0; k < 4; ++k) *(u32*)(own_to + tile * TILE_BYTES + places[k]) = turned[k];
    }
  }
}

// Keys become signed. What a key adds to its scores: less the zero point of queries times its codes.
__device__ __forceinline__ void finish_keys(u8* base) {
  for (s32 row = threadIdx.x; row < KEYS_PADDED; row += THREADS) {
    s32 sum = 0;
    for (s32 i = 0; i < DEPTHS * 4; ++i) {
      uint4* codes = (uint4*)(base + i / 4 * KEYS_PADDED * 64 + place_in_tile(row, i % 4 * 16));
      uint4 c = *codes;
      if (!K_S8) c.x ^= 0x80808080u, c.y ^= 0x80808080u, c.z ^= 0x80808080u, c.w ^= 0x80808080u;
      if (16 * i < HEAD) sum = add_codes<true>(c.x, add_codes<true>(c.y, add_codes<true>(c.z, add_codes<true>(c.w, sum))));
      *codes = c;
    }
    ((s32*)(base + OFF_KEY_TERMS))[row] = MAGIC - ZP_Q * sum;
  }
}

// The same of values: of each channel, for the zero point of shares.
__device__ __forceinline__ void finish_values(u8* base) {
#if ZP_Y != 0
  for (s32 row = threadIdx.x; row < DEPTHS * 64; row += THREADS) {
    s32 sum = 0;
    for (s32 i = 0; i < KEYS_PADDED / 4; ++i)
      sum = add_codes<true>(*(const u32*)(base + OFF_VALUES + (row / 64 * (KEYS_PADDED / 64) + i / 16) * TILE_BYTES + place_in_tile(row % 64, i % 16 * 4)), sum);
    ((s32*)(base + OFF_VALUE_TERMS))[row] = -ZP_Y * sum;
  }
#endif
}

// Sums of the codes of the thread's two queries, less their zero points.
__device__ __forceinline__ void sums_of_queries(const Team& team, s32 (&sums)[2]) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    s32 sum = 0;
#pragma unroll
    for (s32 d = 0; d < DEPTHS; ++d) {
      const uint4 c = *(const uint4*)(team.base + OFF_QUERIES + (team.number * DEPTHS + d) * TILE_BYTES + place_in_tile(team.row + 8 * half, team.q * 16));
      sum = add_codes<Q_S8>(c.x, add_codes<Q_S8>(c.y, add_codes<Q_S8>(c.z, add_codes<Q_S8>(c.w, sum))));
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    sums[half] = sum + __shfl_xor_sync(~0u, sum, 2) - HEAD * ZP_Q;
  }
}
