// SPDX-License-Identifier: Apache-2.0
// Attention of codes on Hopper: queries by keys, a Softmax of each row of scores to codes (shares), shares by values. Scores and shares
// stay in registers.
//
// A team of SPLIT warpgroups computes 64 queries of one head at a time. Softmax adds 16 lanes, element i in lane i % 16
// (docs/numerics.md section 7): a warpgroup has the keys of all lanes, or of two the first has lanes 0 to 7 of each 16, the other the
// rest, and a thread has whole lanes of its rows as products leave them. Own key 8j + 2q + e of a warpgroup is thread q's; byte
// 16i + 4q + 2b + e of a row of values in shared memory is own key 16i + 8b + 2q + e, so that shares are an operand where they are.
//
// Constants:
//   QUERIES, KEYS, HEAD (codes of a query: at most 128)
//   KEYS_PADDED           a multiple of 64 * SPLIT
//   Q_S8, K_S8, V_S8, Y_S8 (shares): codes are signed; ZP_Q, ZP_K, ZP_V
//   Q_ROW, K_ROW, V_ROW, OUT_ROW: strides of rows; Q_VEC, K_VEC, V_VEC, OUT_VEC: bytes of one access (16, 8, 4 or 1; V_VEC 4 or 1)
//   BATCHES               X(size, strides of queries, keys, values, mask, y) for each axis of the batch, the last first
//   SCORE_M               multiplier of the scores, positive; MASKED: MASK_ROW, MASK_KEY (strides)
//   Y_SCALE, Y_RECIPROCAL, ZP_Y, LO, HI: of the shares (shares.cu)
//   CONTEXT_M             multiplier of shares by values; namespace context of kernels/epilogue.cu ends them
//   tiles                 SPLIT (1 or 2), TEAMS (of a block), TILES (64 queries each), PARTS (blocks of a head), MIN_BLOCKS
// kernels/attention_operands.cu comes before it.
typedef s32 Scores[CHUNKS][32];

__device__ __forceinline__ void multiply_keys(const Team& team, Scores& acc) {
  const s32* terms = (const s32*)(team.base + OFF_KEY_TERMS) + team.wg * OWN_KEYS + 2 * team.q;
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c)
#pragma unroll
    for (s32 j = 0; j < 8; ++j) {
      const int2 term = *(const int2*)(terms + c * 64 + j * 8);
      acc[c][4 * j] = acc[c][4 * j + 2] = term.x, acc[c][4 * j + 1] = acc[c][4 * j + 3] = term.y;
    }
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c) hold(acc[c]);
  const u32 queries = team.memory + OFF_QUERIES + team.number * DEPTHS * TILE_BYTES;
  products_begin();
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c)
#pragma unroll
    for (s32 d = 0; d < DEPTHS; ++d)
#pragma unroll
      for (s32 k = 0; k < 2; ++k) {
        const u64 a = operand(queries + d * TILE_BYTES) + 2 * k;
        const u64 b = operand(team.memory + d * KEYS_PADDED * 64 + team.wg * OWN_KEYS * 64 + c * TILE_BYTES) + 2 * k;
#if Q_S8
        product64_s8(acc[c], a, b, 1);
#else
        product64_u8(acc[c], a, b, 1);
#endif
      }
  products_end();
}

// f(chunk, place in it, key, index in it, whether there is such a key) for all scores of a row.
template <class F>
__device__ __forceinline__ void each_score(const Team& team, s32 half, const F& f) {
  constexpr s32 kWhole = SPLIT == 1 ? KEYS : KEYS / 16 * 8;  // so many own keys of all threads are there
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c)
#pragma unroll
    for (s32 i = 0; i < 16; ++i) {
      const s32 own = c * 64 + i / 2 * 8, key = key_of(team.wg, own) + 2 * team.q + i % 2;
      f(c, i / 2 * 4 + 2 * half + i % 2, key, i, own + 8 <= kWhole || key < KEYS);
    }
}

// What both warpgroups of a team know of a row, for each of four threads.
template <class T>
__device__ __forceinline__ T* row_cell(const Team& team, s32 wg, s32 row, s32 cell) {
  return (T*)(team.base + OFF_ROWS + team.number * ROWS_BYTES + (wg * 64 + row) * 48 + cell);
}

struct Extremes {
  f32 most[2], least[2];  // of each of the thread's rows
};

// Scores less `base`, with the mask; the accumulators become reals. Rows of a team's two warpgroups are combined.
#if MASKED
__device__ __forceinline__ void find_extremes(const Team& team, const Heads& heads, Scores& acc, const f32 (&base)[2], s32 first, Extremes& found) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    const s32 wanted = first + team.row + 8 * half, row = wanted < QUERIES ? wanted : QUERIES - 1;
    f32 most = -INFINITY_F32;
    each_score(team, half, [&](s32 c, s32 at, s32 key, s32, bool there) {
      if (!there) return;
      const f32 score = f32_mul(f32_sub(f32_bits(acc[c][at]), base[half]), SCORE_M);
      const f32 x = f32_add(score, heads.mask[(s64)row * MASK_ROW + (s64)key * MASK_KEY]);
      acc[c][at] = bits_of(x);
      most = x > most ? x : most;
    });
#pragma unroll
    for (s32 bits = 1; bits < 4; bits *= 2) {
      const f32 other = __shfl_xor_sync(~0u, most, bits);
      most = other > most ? other : most;
    }
    found.most[half] = most;
  }
#if SPLIT == 2
  if (team.q == 0) *row_cell<f32>(team, team.wg, team.row, 0) = found.most[0], *row_cell<f32>(team, team.wg, team.row + 8, 0) = found.most[1];
  team.meet();
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    const f32 other = *row_cell<f32>(team, 1 - team.wg, team.row + 8 * half, 0);
    found.most[half] = other > found.most[half] ? other : found.most[half];
  }
#endif
}
#else
// Floats near MAGIC are in the order of their bits.
__device__ __forceinline__ void find_extremes(const Team& team, const Heads&, Scores& acc, const f32 (&base)[2], s32, Extremes& found) {
  s32 most[2], least[2];
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    most[half] = 0, least[half] = 0x7fffffff;
    each_score(team, half, [&](s32 c, s32 at, s32, s32, bool there) {
      if (there) most[half] = max(most[half], acc[c][at]), least[half] = min(least[half], acc[c][at]);
    });
#pragma unroll
    for (s32 bits = 1; bits < 4; bits *= 2) {
      most[half] = max(most[half], __shfl_xor_sync(~0u, most[half], bits));
      least[half] = min(least[half], __shfl_xor_sync(~0u, least[half], bits));
    }
  }
#if SPLIT == 2
  if (team.q == 0) {
    *row_cell<int2>(team, team.wg, team.row, 0) = int2{most[0], least[0]};
    *row_cell<int2>(team, team.wg, team.row + 8, 0) = int2{most[1], least[1]};
  }
  team.meet();
#endif
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
#if SPLIT == 2
    const int2 other = *row_cell<int2>(team, 1 - team.wg, team.row + 8 * half, 0);
    most[half] = max(most[half], other.x), least[half] = min(least[half], other.y);
#endif
    found.most[half] = f32_mul(f32_sub(f32_bits(most[half]), base[half]), SCORE_M);
    found.least[half] = f32_mul(f32_sub(f32_bits(least[half]), base[half]), SCORE_M);
  }
}
#endif

// Called seldom, and by code that is unrolled far.
__device__ __noinline__ f32 seldom_exp(f32 x) { return math_exp(x); }

// Accumulators become powers; `lanes`: their sums, own keys 8j + 2q + e of lane (j % 2, e) where a warpgroup has all lanes, else e.
template <bool kNormal>
__device__ __forceinline__ void raise(const Team& team, Scores& acc, s32 half, f32 base, f32 most, f32 (&lanes)[2][2]) {
  each_score(team, half, [&](s32 c, s32 at, s32, s32 i, bool there) {
    const f32 x = MASKED ? f32_bits(acc[c][at]) : f32_mul(f32_sub(f32_bits(acc[c][at]), base), SCORE_M);
    const f32 raised = kNormal ? math_exp_normal(f32_sub(x, most)) : MASKED ? math_exp(f32_sub(x, most)) : seldom_exp(f32_sub(x, most));
    const f32 power = there ? raised : 0.0f;
    acc[c][at] = bits_of(power);
    f32& lane = lanes[SPLIT == 1 ? i / 2 % 2 : 0][i % 2];
    lane = f32_add(lane, power);
  });
}

// Powers of all own keys, and the sum of each row.
__device__ __forceinline__ void find_sums(const Team& team, Scores& acc, const f32 (&base)[2], const Extremes& found, f32 (&sums)[2]) {
  f32 lanes[2][2][2] = {};
#if MASKED
  const bool normal = false;
#else
  // Powers of less would not be normal numbers.
  const bool normal = __all_sync(~0u, f32_sub(found.least[0], found.most[0]) >= -87.0f && f32_sub(found.least[1], found.most[1]) >= -87.0f);
#endif
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    if (normal) {
      raise<true>(team, acc, half, base[half], found.most[half], lanes[half]);
    } else {
      raise<false>(team, acc, half, base[half], found.most[half], lanes[half]);
    }
  }
#if SPLIT == 2
#pragma unroll
  for (s32 half = 0; half < 2; ++half)
    *row_cell<float2>(team, team.wg, team.row + 8 * half, 16 + 8 * team.q) = float2{lanes[half][0][0], lanes[half][0][1]};
  team.meet();
#endif
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
#if SPLIT == 2
    const float2 other = *row_cell<float2>(team, 1 - team.wg, team.row + 8 * half, 16 + 8 * team.q);
    lanes[half][1][0] = other.x, lanes[half][1][1] = other.y;
#endif
    f32 even = f32_add(lanes[half][0][0], lanes[half][1][0]), odd = f32_add(lanes[half][0][1], lanes[half][1][1]);
#pragma unroll
    for (s32 bits = 2; bits > 0; bits /= 2) {
      even = f32_add(even, __shfl_xor_sync(~0u, even, bits));
      odd = f32_add(odd, __shfl_xor_sync(~0u, odd, bits));
    }
    sums[half] = f32_add(even, odd);
  }
}

typedef u32 Codes[CHUNKS][4][2];

// Codes of own keys from `own` on, a word of a thread; what belongs to no key has the code of 0.
__device__ __forceinline__ u32 of_keys(const Team& team, s32 own, u32 word) {
  if (KEYS == KEYS_PADDED || key_of(1, own + 15) < KEYS) return word;
  u32 there = 0;
#pragma unroll
  for (s32 e = 0; e < 4; ++e)
    if (key_of(team.wg, own + e / 2 * 8 + e % 2) + 2 * team.q < KEYS) there |= 255u << (8 * e);
  return (word & there) | ((ZP_Y & 255) * ONES & ~there);
}

// Powers become codes, four to a word.
__device__ __forceinline__ void make_codes(const Team& team, const Scores& acc, const f32 (&sums)[2], Codes& codes) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    const ShareWords shares(sums[half]);
#pragma unroll
    for (s32 c = 0; c < CHUNKS; ++c) {
      f32 powers[4][4];
      u32 words[4];
#pragma unroll
      for (s32 i = 0; i < 16; ++i) powers[i / 4][i % 4] = f32_bits(acc[c][i / 4 * 8 + i % 4 / 2 * 4 + 2 * half + i % 2]);
      shares.find_codes(powers, words);
#pragma unroll
      for (s32 i = 0; i < 4; ++i) codes[c][i][half] = of_keys(team, c * 64 + i * 16, words[i]);
    }
  }
}

typedef s32 Contexts[DEPTHS][32];

__device__ __forceinline__ void multiply_values(const Team& team, const Codes& codes, Contexts& out) {
  const u32 values = team.memory + OFF_VALUES + team.wg * CHUNKS * TILE_BYTES;
  products_begin();
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c)
#pragma unroll
    for (s32 k = 0; k < 2; ++k)
#pragma unroll
      for (s32 d = 0; d < DEPTHS; ++d) {
        const u64 b = operand(values + (d * (KEYS_PADDED / 64) + c) * TILE_BYTES) + 2 * k;
        const u32(&low)[2] = codes[c][2 * k], (&high)[2] = codes[c][2 * k + 1];
#if Y_S8
        product64_s8(out[d], low[0], low[1], high[0], high[1], b, (c | k) != 0);
#else
        product64_u8(out[d], low[0], low[1], high[0], high[1], b, (c | k) != 0);
#endif
      }
  products_end();
}

// Sums of the shares' codes of both rows, in all four threads.
__device__ __forceinline__ void sums_of_shares(const Codes& codes, s32 (&sums)[2]) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    s32 sum = 0;
    if (OWN_ZP_V != 0) {
#pragma unroll
      for (s32 c = 0; c < CHUNKS; ++c)
#pragma unroll
        for (s32 i = 0; i < 4; ++i) sum = add_codes<Y_S8>(codes[c][i][half], sum);
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
    }
    sums[half] = sum;
  }
}

// A row's 16 channels of each 64. `term`: what zero points add.
__device__ __forceinline__ void store_row(const Team& team, const Heads& heads, s32 query, const s32 (&own)[DEPTHS][16], s32 term) {
  if (query >= QUERIES) return;
#pragma unroll
  for (s32 d = 0; d < DEPTHS; ++d) {
    __align__(16) u32 words[4];
    const s32 channel = d * 64 + team.q * 16;
#pragma unroll
    for (s32 w = 0; w < 4; ++w) {
      f32 t[4];
#pragma unroll
      for (s32 e = 0; e < 4; ++e) {
        s32 sum = own[d][4 * w + e] + term;
#if ZP_Y != 0
        sum += ((const s32*)(team.base + OFF_VALUE_TERMS))[d * 64 + (2 * w + e / 2) * 8 + team.q * 2 + e % 2];
#endif
        t[e] = context::product_real(sum, CONTEXT_M, 0.0f);
      }
      const u8 none[4] = {};
      words[w] = context::product_codes(t, nullptr, none);
    }
    u8* to = heads.y + (s64)query * OUT_ROW + channel;
#pragma unroll
    for (s32 v = 0; v < 16; v += OUT_VEC)
      if (channel + v < HEAD) context::store_codes<OUT_VEC>(to + v, (const u8*)words + v);
  }
}

// Each of two warpgroups ends one of a thread's rows.
__device__ __forceinline__ void finish(const Team& team, const Heads& heads, s32 first, const Contexts& out, const s32 (&sums)[2]) {
  constexpr s32 kConstant = KEYS * ZP_Y * OWN_ZP_V + OWN_ZP_V * (KEYS_PADDED - KEYS) * ZP_Y;
#if SPLIT == 2
  s32* swap = (s32*)(team.base + OFF_SWAP + team.number * SWAP_BYTES) + threadIdx.x % 128;
#pragma unroll
  for (s32 d = 0; d < DEPTHS; ++d)
#pragma unroll
    for (s32 i = 0; i < 16; ++i) {
      const s32 at = i / 2 * 4 + i % 2;
      swap[((d * 16 + i) * 2 + team.wg) * 128] = team.wg == 0 ? out[d][at + 2] : out[d][at];
    }
  if (team.q == 0) *row_cell<s32>(team, team.wg, team.row + (team.wg == 0 ? 8 : 0), 8) = team.wg == 0 ? sums[1] : sums[0];
  team.meet();
  s32 own[DEPTHS][16];
#pragma unroll
  for (s32 d = 0; d < DEPTHS; ++d)
#pragma unroll
    for (s32 i = 0; i < 16; ++i) {
      const s32 at = i / 2 * 4 + i % 2;
      own[d][i] = (team.wg == 0 ? out[d][at] : out[d][at + 2]) + swap[((d * 16 + i) * 2 + 1 - team.wg) * 128];
    }
  const s32 row = team.row + 8 * team.wg;
  const s32 sum = (team.wg == 0 ? sums[0] : sums[1]) + *row_cell<s32>(team, 1 - team.wg, row, 8);
  store_row(team, heads, first + row, own, kConstant - OWN_ZP_V * sum);
#else
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    s32 own[DEPTHS][16];
#pragma unroll
    for (s32 d = 0; d < DEPTHS; ++d)
#pragma unroll
      for (s32 i = 0; i < 16; ++i) own[d][i] = out[d][i / 2 * 4 + 2 * half + i % 2];
    store_row(team, heads, first + team.row + 8 * half, own, kConstant - OWN_ZP_V * sums[half]);
  }
#endif
}

// 64 queries; the next tile's are asked for when all have read these.
__device__ __forceinline__ void attend(const Team& team, const Heads& heads, s32 tile, s32 end) {
  copy_async_wait<0>();
  publish_shared();
  team.meet();
  Scores acc;
  multiply_keys(team, acc);
  s32 of_queries[2];
  sums_of_queries(team, of_queries);
  const f32 base[2] = {f32_add(f32_bits(MAGIC), f32_of(OWN_ZP_K * of_queries[0])), f32_add(f32_bits(MAGIC), f32_of(OWN_ZP_K * of_queries[1]))};
  products_wait<0>();
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c) hold(acc[c]);
  Extremes found;
  find_extremes(team, heads, acc, base, tile * 64, found);
  if (SPLIT == 1) team.meet();
  if (tile + TEAMS < end) load_queries(team, heads, tile + TEAMS);
  f32 sums[2];
  find_sums(team, acc, base, found, sums);
  Codes codes;
  make_codes(team, acc, sums, codes);
  Contexts out;
  multiply_values(team, codes, out);
  s32 of_shares[2];
  sums_of_shares(codes, of_shares);
  products_wait<0>();
#pragma unroll
  for (s32 d = 0; d < DEPTHS; ++d) hold(out[d]);
  finish(team, heads, tile * 64, out, of_shares);
}

__device__ __forceinline__ Heads heads_of(const AttentionParams& p, s64 batch) {
  Heads heads = {p.queries, p.keys, p.values, p.mask, p.y};
#define X(size, of_queries, of_keys, of_values, of_mask, of_y) \
  heads.queries += batch % size * of_queries;                  \
  heads.keys += batch % size * of_keys;                        \
  heads.values += batch % size * of_values;                    \
  heads.mask += batch % size * of_mask;                        \
  heads.y += batch % size * of_y;                              \
  batch /= size;
  BATCHES
#undef X
  return heads;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) octet_kernel(const __grid_constant__ AttentionParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
  const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  const Team team = {shared_memory + (memory - shared_address(shared_memory)), memory, warp / (4 * SPLIT), warp / 4 % SPLIT, lane % 4,
                     warp % 4 * 16 + lane / 4};
  const Heads heads = heads_of(p, blockIdx.x / PARTS);
  const s32 first = blockIdx.x % PARTS * TILES_OF_PART + team.number;
  const s32 last = (blockIdx.x % PARTS + 1) * TILES_OF_PART, end = last < TILES ? last : TILES;
  load_codes_of<K_VEC, KEYS_PADDED, THREADS>(team.base, heads.keys, K_ROW, 0, KEYS, threadIdx.x, row_of_key);
  if (first < end) load_queries(team, heads, first);
  load_values(team.base + OFF_VALUES, heads.values);
  copy_async_wait<0>();
  __syncthreads();
  finish_keys(team.base);
  finish_values(team.base);
  publish_shared();
  __syncthreads();
  for (s32 tile = first; tile < end; tile += TEAMS) attend(team, heads, tile, end);
}
