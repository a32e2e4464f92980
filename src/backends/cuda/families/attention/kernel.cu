// SPDX-License-Identifier: Apache-2.0
// Attention of codes on Hopper: queries by keys, a Softmax of each row of scores to codes (shares), shares by values. Scores and shares
// stay in registers.
//
// A team of one or two warpgroups computes 64 queries of one head at a time. Softmax adds 16 lanes, element i in lane i % 16
// (docs/numerics.md section 7): a warpgroup has the keys of all lanes, or of two the first has lanes 0 to 7 of each 16, the other the
// rest, and a thread has whole lanes of its rows as products leave them. Own key 8j + 2q + e of a warpgroup is thread q's; byte
// 16i + 4q + 2b + e of a row of values in shared memory is own key 16i + 8b + 2q + e, so that shares are an operand where they are.
#include "backends/cuda/families/attention/operands.cuh"

using Context = Epilogue<PartOf<Made, &Spec::context>>;
using OwnShares = PartOf<Made, &Spec::shares>;
// No templates: the compiler puts functions where they are defined, and the registers of a kernel hang on it.
__device__ u8 exact_share_code(f32 power, f32 sum);
__device__ u32 slow_share_codes(f32 a, f32 b, f32 c, f32 d, f32 sum);
struct Seldom {
  static __device__ __forceinline__ u8 exact_code(f32 power, f32 sum) { return exact_share_code(power, sum); }
  static __device__ __forceinline__ u32 slow_codes(f32 a, f32 b, f32 c, f32 d, f32 sum) { return slow_share_codes(a, b, c, d, sum); }
};
__device__ __noinline__ u8 exact_share_code(f32 power, f32 sum) {
  constexpr Quantization q = s.shares;
  return (u8)quantized(f32_div(power, sum), value_of(q.scale), value_of(q.reciprocal), q.zero_point, q.lo, q.hi);
}
__device__ __noinline__ u32 slow_share_codes(f32 a, f32 b, f32 c, f32 d, f32 sum) {
  const Shares<OwnShares, Seldom> shares(sum);
  return shares.code(a) | shares.code(b) << 8 | shares.code(c) << 16 | (u32)shares.code(d) << 24;
}

typedef s32 Scores[kChunks][32];

__device__ __forceinline__ void multiply_keys(const Team& team, Scores& acc) {
  const s32* terms = (const s32*)(team.base + kOffKeyTerms) + team.wg * kOwnKeys + 2 * team.q;
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c)
#pragma unroll
    for (s32 j = 0; j < 8; ++j) {
      const int2 term = kKeyTerms ? *(const int2*)(terms + c * 64 + j * 8) : int2{kMagic, kMagic};
      acc[c][4 * j] = acc[c][4 * j + 2] = term.x, acc[c][4 * j + 1] = acc[c][4 * j + 3] = term.y;
    }
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c) hold(acc[c]);
  const u32 queries = team.memory + kOffQueries + team.number * kDepths * kTileBytes;
  products_begin();
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c)
#pragma unroll
    for (s32 d = 0; d < kDepths; ++d)
#pragma unroll
      for (s32 k = 0; k < 2; ++k) {
        const u64 a = operand<64>(queries + d * kTileBytes) + 2 * k;
        const u64 b = operand<64>(team.memory + d * kPaddedKeys * 64 + team.wg * kOwnKeys * 64 + c * kTileBytes) + 2 * k;
        product<s.q.is_signed>(acc[c], a, b, 1);
      }
  products_end();
}

// Whether no warpgroup has a key from own key `own` on, a constant.
__device__ __forceinline__ bool is_behind_keys(s32 own) { return kKeys < kPaddedKeys && key_of(0, own) >= kKeys; }

// f(chunk, place in it, key, index in it, whether there is such a key) for all scores of a row.
template <class F>
__device__ __forceinline__ void each_score(const Team& team, s32 half, const F& f) {
  constexpr s32 kWhole = kSplit == 1 ? kKeys : kKeys / 16 * 8;  // so many own keys of all threads are there
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c)
#pragma unroll
    for (s32 i = 0; i < 16; ++i) {
      const s32 own = c * 64 + i / 2 * 8, key = key_of(team.wg, own) + 2 * team.q + i % 2;
      f(c, i / 2 * 4 + 2 * half + i % 2, key, i, !is_behind_keys(own) && (own + 8 <= kWhole || key < kKeys));
    }
}

// What both warpgroups of a team know of a row, for each of four threads.
template <class T>
__device__ __forceinline__ T* row_cell(const Team& team, s32 wg, s32 row, s32 cell) {
  return (T*)(team.base + kOffRows + team.number * kRowsBytes + (wg * 64 + row) * kRowBytes + cell);
}

struct Extremes {
  f32 most[2], least[2];  // of each of the thread's rows
};

// What is added to the scores of a key and the next: `own` of the warpgroup, a constant, in a row of the mask from the thread's first key on.
__device__ __forceinline__ float2 masks_of(const Team& team, const f32* row, s32 own) {
  if constexpr (shares_mask(s)) return *(const float2*)(team.base + kOffMask + (team.wg * kOwnKeys + own + 2 * team.q) * 4);
  const s32 key = key_of(team.wg, own) + 2 * team.q;
  if (kKeys < kPaddedKeys && key >= kKeys) return float2{0.0f, 0.0f};
  row += key_of(0, own) * s.mask_key;
  if constexpr (s.mask_pairs) return *(const float2*)row;
  return float2{row[0], kKeys == kPaddedKeys || key + 1 < kKeys ? row[s.mask_key] : 0.0f};
}

// NaN makes its whole row NaN, and so does infinity.
__device__ __forceinline__ f32 mask_number(f32 read) { return fminf(read, INFINITY_F32); }

// Scores less `base`, with the mask; the accumulators become reals. Rows of a team's two warpgroups are combined. Where a row's largest one is no number all of its shares are NaN, whose
// code is that of 0: it is said to be infinite, so that its powers are 0.
__device__ __forceinline__ void find_masked_extremes(const Team& team, const Heads& heads, Scores& acc, const f32 (&base)[2], s32 first, Extremes& found) {
  const f32* rows[2];
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    const s32 wanted = first + team.row + 8 * half, row = wanted < kQueries ? wanted : kQueries - 1;
    rows[half] = heads.mask + (s64)row * s.mask_row + (s64)(key_of(team.wg, 0) + 2 * team.q) * s.mask_key;
    found.most[half] = -INFINITY_F32;
  }
  if constexpr (!shares_mask(s)) team.meet();  // no number of the mask is asked for while registers are few
  constexpr s32 kAtOnce = shares_mask(s) ? 1 : 2, kRowsOfMask = shares_mask(s) ? 1 : 2;
#pragma unroll
  for (s32 first_j = 0; first_j < kChunks * 8; first_j += kAtOnce) {
    float2 masks[kAtOnce][kRowsOfMask];  // asked for before the first is waited for
#pragma unroll
    for (s32 j = 0; j < kAtOnce; ++j)
#pragma unroll
      for (s32 half = 0; half < kRowsOfMask; ++half)
        if (!is_behind_keys((first_j + j) * 8)) masks[j][half] = masks_of(team, rows[half], (first_j + j) * 8);
#pragma unroll
    for (s32 j = 0; j < kAtOnce; ++j)
#pragma unroll
      for (s32 half = 0; half < 2; ++half)
#pragma unroll
        for (s32 e = 0; e < 2; ++e) {
          const s32 own = (first_j + j) * 8, key = key_of(team.wg, own) + 2 * team.q + e;
          s32& sum = acc[own / 64][own % 64 / 8 * 4 + 2 * half + e];
          const float2 mask = masks[j][half % kRowsOfMask];
          if (is_behind_keys(own)) continue;
          const f32 score = f32_mul(f32_sub(f32_bits(sum), base[half]), value_of(s.score_multiplier));
          const f32 x = f32_add(score, mask_number(e == 0 ? mask.x : mask.y));
          if (kKeys == kPaddedKeys || key < kKeys) found.most[half] = fmaxf(found.most[half], x);
          sum = bits_of(x);
        }
  }
#pragma unroll
  for (s32 half = 0; half < 2; ++half)
#pragma unroll
    for (s32 bits = 1; bits < 4; bits *= 2) found.most[half] = fmaxf(found.most[half], __shfl_xor_sync(~0u, found.most[half], bits));
  if constexpr (kSplit == 2) {
    if (team.q == 0) *row_cell<f32>(team, team.wg, team.row, 0) = found.most[0], *row_cell<f32>(team, team.wg, team.row + 8, 0) = found.most[1];
    team.meet();
#pragma unroll
    for (s32 half = 0; half < 2; ++half) found.most[half] = fmaxf(found.most[half], *row_cell<f32>(team, 1 - team.wg, team.row + 8 * half, 0));
  }
#pragma unroll
  for (s32 half = 0; half < 2; ++half)
    if (!(fabsf(found.most[half]) < INFINITY_F32)) found.most[half] = INFINITY_F32;
}
// Floats near kMagic are in the order of their bits.
__device__ __forceinline__ void find_extremes(const Team& team, Scores& acc, const f32 (&base)[2], Extremes& found) {
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
  if constexpr (kSplit == 2) {
    if (team.q == 0) {
      *row_cell<int2>(team, team.wg, team.row, 0) = int2{most[0], least[0]};
      *row_cell<int2>(team, team.wg, team.row + 8, 0) = int2{most[1], least[1]};
    }
    team.meet();
  }
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    if constexpr (kSplit == 2) {
      const int2 other = *row_cell<int2>(team, 1 - team.wg, team.row + 8 * half, 0);
      most[half] = max(most[half], other.x), least[half] = min(least[half], other.y);
    }
    found.most[half] = f32_mul(f32_sub(f32_bits(most[half]), base[half]), value_of(s.score_multiplier));
    found.least[half] = f32_mul(f32_sub(f32_bits(least[half]), base[half]), value_of(s.score_multiplier));
  }
}

// Called seldom, and by code that is unrolled far.
__device__ __noinline__ f32 seldom_exp(f32 x) { return math_exp(x); }

// Accumulators become powers; `lanes`: their sums, own keys 8j + 2q + e of lane (j % 2, e) where a warpgroup has all lanes, else e.
template <bool kNormal>
__device__ __forceinline__ void raise(const Team& team, Scores& acc, s32 half, f32 base, f32 most, f32 (&lanes)[2][2]) {
  each_score(team, half, [&](s32 c, s32 at, s32, s32 i, bool there) {
    const f32 x = s.masked ? f32_bits(acc[c][at]) : f32_mul(f32_sub(f32_bits(acc[c][at]), base), value_of(s.score_multiplier));
    const f32 raised = s.masked ? math_exp_of_least(f32_sub(x, most)) : kNormal ? math_exp_normal(f32_sub(x, most)) : seldom_exp(f32_sub(x, most));
    const f32 power = there ? raised : 0.0f;  // of what is behind all keys nothing is computed
    acc[c][at] = bits_of(power);
    f32& lane = lanes[kSplit == 1 ? i / 2 % 2 : 0][i % 2];
    lane = f32_add(lane, power);
  });
}

// Powers of all own keys, and the sum of each row.
__device__ __forceinline__ void find_sums(const Team& team, Scores& acc, const f32 (&base)[2], const Extremes& found, f32 (&sums)[2]) {
  f32 lanes[2][2][2] = {};
  // Powers of less would not be normal numbers.
  const bool normal = s.masked ? false : __all_sync(~0u, f32_sub(found.least[0], found.most[0]) >= -87.0f && f32_sub(found.least[1], found.most[1]) >= -87.0f);
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    if (normal) {
      raise<true>(team, acc, half, base[half], found.most[half], lanes[half]);
    } else {
      raise<false>(team, acc, half, base[half], found.most[half], lanes[half]);
    }
  }
  if constexpr (kSplit == 2) {
#pragma unroll
    for (s32 half = 0; half < 2; ++half)
      *row_cell<float2>(team, team.wg, team.row + 8 * half, 16 + 8 * team.q) = float2{lanes[half][0][0], lanes[half][0][1]};
    team.meet();
  }
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    if constexpr (kSplit == 2) {
      const float2 other = *row_cell<float2>(team, 1 - team.wg, team.row + 8 * half, 16 + 8 * team.q);
      lanes[half][1][0] = other.x, lanes[half][1][1] = other.y;
    }
    f32 even = f32_add(lanes[half][0][0], lanes[half][1][0]), odd = f32_add(lanes[half][0][1], lanes[half][1][1]);
#pragma unroll
    for (s32 bits = 2; bits > 0; bits /= 2) {
      even = f32_add(even, __shfl_xor_sync(~0u, even, bits));
      odd = f32_add(odd, __shfl_xor_sync(~0u, odd, bits));
    }
    sums[half] = f32_add(even, odd);
    // Shares of 0, of a row whose scores have no largest number.
    if (s.masked && sums[half] == 0.0f) sums[half] = 1.0f;
  }
}

typedef u32 Codes[kChunks][4][2];

// Codes of own keys from `own` on, a word of a thread; what belongs to no key has the code of 0.
__device__ __forceinline__ u32 of_keys(const Team& team, s32 own, u32 word) {
  if (kKeys == kPaddedKeys || key_of(1, own + 15) < kKeys) return word;
  u32 there = 0;
#pragma unroll
  for (s32 e = 0; e < 4; ++e)
    if (key_of(team.wg, own + e / 2 * 8 + e % 2) + 2 * team.q < kKeys) there |= 255u << (8 * e);
  return (word & there) | ((kSharesZero & 255) * kOnes & ~there);
}

// Powers become codes, four to a word.
__device__ __forceinline__ void make_codes(const Team& team, Scores& acc, const f32 (&sums)[2], Codes& codes) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    const ShareWords<OwnShares, Seldom> shares(sums[half]);
    if (shares.beyond) {
#pragma unroll
      for (s32 c = 0; c < kChunks; ++c)
#pragma unroll
        for (s32 i = 0; i < 16; ++i) {
          s32& power = acc[c][i / 2 * 4 + 2 * half + i % 2];
          power = bits_of(fminf(f32_bits(power), shares.most));
        }
    }
#pragma unroll
    for (s32 c = 0; c < kChunks; ++c) {
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

typedef s32 Contexts[kDepths][32];

__device__ __forceinline__ void multiply_values(const Team& team, const Codes& codes, Contexts& out) {
  const u32 values = team.memory + kOffValues + team.wg * kChunks * kTileBytes;
  products_begin();
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c)
#pragma unroll
    for (s32 k = 0; k < 2; ++k)
#pragma unroll
      for (s32 d = 0; d < kDepths; ++d) {
        const u64 b = operand<64>(values + (d * (kPaddedKeys / 64) + c) * kTileBytes) + 2 * k;
        const u32(&low)[2] = codes[c][2 * k], (&high)[2] = codes[c][2 * k + 1];
        const u32 a[4] = {low[0], low[1], high[0], high[1]};
        product<s.shares_signed>(out[d], a, b, (c | k) != 0);
      }
  products_end();
}

// Sums of the shares' codes of both rows, in all four threads.
__device__ __forceinline__ void sums_of_shares(const Codes& codes, s32 (&sums)[2]) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    s32 sum = 0;
    if (kValuesZero != 0) {
#pragma unroll
      for (s32 c = 0; c < kChunks; ++c)
#pragma unroll
        for (s32 i = 0; i < 4; ++i) sum = add_codes<s.shares_signed>(codes[c][i][half], sum);
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
    }
    sums[half] = sum;
  }
}

// A row's 16 channels of each 64. `term`: what zero points add.
__device__ __forceinline__ void store_row(const Team& team, const Heads& heads, s32 query, const s32 (&own)[kDepths][16], s32 term) {
  if (query >= kQueries) return;
#pragma unroll
  for (s32 d = 0; d < kDepths; ++d) {
    __align__(16) u32 words[4];
    const s32 channel = d * 64 + team.q * 16;
#pragma unroll
    for (s32 w = 0; w < 4; ++w) {
      f32 t[4];
#pragma unroll
      for (s32 e = 0; e < 4; ++e) {
        s32 sum = own[d][4 * w + e] + term;
        if constexpr (kSharesZero != 0)
          sum += ((const s32*)(team.base + kOffValueTerms))[d * 64 + (2 * w + e / 2) * 8 + team.q * 2 + e % 2];
        t[e] = Context::product_real(sum, value_of(s.context_multiplier), 0.0f);
      }
      const u8 none[4] = {};
      words[w] = Context::product_codes(t, nullptr, none);
    }
    u8* to = heads.y + (s64)query * s.y_row + channel;
#pragma unroll
    for (s32 v = 0; v < 16; v += s.y_access)
      if (channel + v < kHead) store_codes<s.y_access>(to + v, (const u8*)words + v);
  }
}

// Each of two warpgroups ends one of a thread's rows.
__device__ __forceinline__ void finish(const Team& team, const Heads& heads, s32 first, const Contexts& out, const s32 (&sums)[2]) {
  constexpr s32 kConstant = kKeys * kSharesZero * kValuesZero + kValuesZero * (kPaddedKeys - kKeys) * kSharesZero;
  if constexpr (kSplit == 2) {
    s32* swap = (s32*)(team.base + kOffSwap + team.number * kSwapBytes) + threadIdx.x % 128;
#pragma unroll
    for (s32 d = 0; d < kDepths; ++d)
#pragma unroll
      for (s32 i = 0; i < 16; ++i) {
        const s32 at = i / 2 * 4 + i % 2;
        swap[((d * 16 + i) * 2 + team.wg) * 128] = team.wg == 0 ? out[d][at + 2] : out[d][at];
      }
    if (team.q == 0) *row_cell<s32>(team, team.wg, team.row + (team.wg == 0 ? 8 : 0), 8) = team.wg == 0 ? sums[1] : sums[0];
    team.meet();
    s32 own[kDepths][16];
#pragma unroll
    for (s32 d = 0; d < kDepths; ++d)
#pragma unroll
      for (s32 i = 0; i < 16; ++i) {
        const s32 at = i / 2 * 4 + i % 2;
        own[d][i] = (team.wg == 0 ? out[d][at] : out[d][at + 2]) + swap[((d * 16 + i) * 2 + 1 - team.wg) * 128];
      }
    const s32 row = team.row + 8 * team.wg;
    const s32 sum = (team.wg == 0 ? sums[0] : sums[1]) + *row_cell<s32>(team, 1 - team.wg, row, 8);
    store_row(team, heads, first + row, own, kConstant - kValuesZero * sum);
  } else {
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      s32 own[kDepths][16];
#pragma unroll
      for (s32 d = 0; d < kDepths; ++d)
#pragma unroll
        for (s32 i = 0; i < 16; ++i) own[d][i] = out[d][i / 2 * 4 + 2 * half + i % 2];
      store_row(team, heads, first + team.row + 8 * half, own, kConstant - kValuesZero * sums[half]);
    }
  }
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
  const f32 base[2] = {f32_add(f32_bits(kMagic), f32_of(kKeysZero * of_queries[0])), f32_add(f32_bits(kMagic), f32_of(kKeysZero * of_queries[1]))};
  products_wait<0>();
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c) hold(acc[c]);
  Extremes found;
  if constexpr (s.masked) {
    find_masked_extremes(team, heads, acc, base, tile * 64, found);
  } else {
    find_extremes(team, acc, base, found);
  }
  if (kSplit == 1) team.meet();
  if (tile + kTeams < end) load_queries(team, heads, tile + kTeams);
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
  for (s32 d = 0; d < kDepths; ++d) hold(out[d]);
  finish(team, heads, tile * 64, out, of_shares);
}

__device__ __forceinline__ void step_along(Heads& heads, s64& batch, const BatchAxis& axis) {
  heads.queries += batch % axis.size * axis.queries;
  heads.keys += batch % axis.size * axis.keys;
  heads.values += batch % axis.size * axis.values;
  heads.mask += batch % axis.size * axis.mask;
  heads.y += batch % axis.size * axis.y;
  batch /= axis.size;
}
__device__ __forceinline__ Heads heads_of(const Params& p, s64 batch) {
  Heads heads = {p.queries, p.keys, p.values, p.mask, p.y};
  if constexpr (s.batch.count > 0) step_along(heads, batch, s.batch.axis0);
  if constexpr (s.batch.count > 1) step_along(heads, batch, s.batch.axis1);
  if constexpr (s.batch.count > 2) step_along(heads, batch, s.batch.axis2);
  if constexpr (s.batch.count > 3) step_along(heads, batch, s.batch.axis3);
  if constexpr (s.batch.count > 4) step_along(heads, batch, s.batch.axis4);
  if constexpr (s.batch.count > 5) step_along(heads, batch, s.batch.axis5);
  return heads;
}

extern "C" __global__ void __launch_bounds__(kThreads, s.tile.blocks) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
  const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  const Team team = {shared_memory + (memory - shared_address(shared_memory)), memory, warp / (4 * kSplit), warp / 4 % kSplit, lane % 4,
                     warp % 4 * 16 + lane / 4};
  const Heads heads = heads_of(p, blockIdx.x / kParts);
  const s32 first = blockIdx.x % kParts * kTilesOfPart + team.number;
  const s32 last = (blockIdx.x % kParts + 1) * kTilesOfPart, end = last < kTiles ? last : kTiles;
  load_codes_of<s.k.access, kPaddedKeys, kThreads>(team.base, heads.keys, s.k.row, 0, kKeys, threadIdx.x, row_of_key);
  if (first < end) load_queries(team, heads, first);
  load_values(team.base + kOffValues, heads.values);
  load_mask(team.base, heads.mask);
  copy_async_wait<0>();
  __syncthreads();
  finish_keys(team.base);
  finish_values(team.base);
  publish_shared();
  __syncthreads();
  for (s32 tile = first; tile < end; tile += kTeams) attend(team, heads, tile, end);
}
