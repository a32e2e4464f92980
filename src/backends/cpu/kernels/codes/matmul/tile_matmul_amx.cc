// SPDX-License-Identifier: Apache-2.0
// Rows of u8 times packed u8 on matrix tiles: one tile of rows meets up to four tiles of columns. The tiles of a block are
// issued before the sums of the block before it become codes, so both units of the core are busy.
#include "backends/cpu/kernels/codes/amx_tiles.h"
#include "backends/cpu/kernels/codes/matmul/tile_matmul_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

constexpr s64 kTileSums = kProductRows * kProductColumns;

// The rows of one tile.
struct RowTile {
  const u8* src;
  s64 stride;
  u8* dst;
  s64 skip;                 // rows that belong to the tile before
  s32 terms[kProductRows];  // -zero_b * the row's sum
};

// A block of sums that becomes codes later.
struct Waiting {
  s64 tiles = 0;  // of columns; 0: none
  s64 first = 0;  // column
  const s32* sums = nullptr;
  const RowTile* rows = nullptr;
};

template <int kTiles>
struct Block {
  template <int kTile = 0>
  static void load_columns(const s32* columns) {
    if constexpr (kTile < kTiles) {
      amx_load<kTile>(columns + kTile * kProductColumns, 0);
      load_columns<kTile + 1>(columns);
    }
  }
  template <int kTile = 0>
  static void pass(const u8* packed) {
    if constexpr (kTile < kTiles) {
      amx_load<6 + kTile % 2>(packed + kTile * kProductTile, 64);
      amx_dot_uu<kTile, 4, 6 + kTile % 2>();
      pass<kTile + 1>(packed);
    }
  }
  template <int kTile = 0>
  static void store(s32* sums) {
    if constexpr (kTile < kTiles) {
      amx_store<kTile>(sums + kTile * kTileSums, kProductColumns * 4);
      store<kTile + 1>(sums);
    }
  }
  static void multiply(const RowTile& rows, s64 steps, const u8* packed, const s32* columns,
                       s32* sums) {
    load_columns(columns);
    for (s64 s = 0; s < steps; ++s, packed += kTiles * kProductTile) {
      amx_load<4>(rows.src + s * kProductStep, rows.stride);
      pass(packed);
    }
    store(sums);
  }
};

void multiply(s64 tiles, const RowTile& rows, s64 steps, const u8* packed, const s32* columns,
              s32* sums) {
  if (tiles == 4) return Block<4>::multiply(rows, steps, packed, columns, sums);
  if (tiles == 3) return Block<3>::multiply(rows, steps, packed, columns, sums);
  if (tiles == 2) return Block<2>::multiply(rows, steps, packed, columns, sums);
  Block<1>::multiply(rows, steps, packed, columns, sums);
}

// Register v holds columns 16 * v + i; of a block of four tiles, columns 16 * l + 4 * v + i in lane l.
template <bool kFour>
inline void store_reals(const EpilogueArgs& e, const __m512 t[4], f32* dst, s64 columns) {
  for (int v = 0; v < 4; ++v) {
    const __m512 y = e.clip ? clip(e, t[v]) : t[v];
    if constexpr (!kFour) {
      _mm512_mask_storeu_ps(dst + 16 * v, first_lanes16(columns - 16 * v), y);
    } else {
      const __m128 lanes[] = {_mm512_castps512_ps128(y), _mm512_extractf32x4_ps(y, 1),
                              _mm512_extractf32x4_ps(y, 2), _mm512_extractf32x4_ps(y, 3)};
      for (int l = 0; l < 4; ++l) {
        const s64 at = 16 * l + 4 * v;
        _mm_mask_storeu_ps(dst + at, static_cast<__mmask8>(first_lanes16(columns - at)), lanes[l]);
      }
    }
  }
}

struct Finisher {
  const ProductJob& job;
  CodeLimits limits;

  // Sums of one row become results.
  template <bool kFour, bool kBounded>
  void row(const Waiting& w, s64 r, const __m512 multiplier[4]) const {
    const EpilogueArgs& e = *job.epilogue;
    const __m512i term = _mm512_set1_epi32(w.rows->terms[r]);
    const s32* sums = w.sums + r * kProductColumns;
    u8* dst = w.rows->dst + r * job.y_row;
    const s64 columns = job.n - w.first;
    __m512 t[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      if (!kFour && v >= w.tiles) {
        t[v] = _mm512_setzero_ps();
        continue;
      }
      const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums + v * kTileSums), term);
      t[v] = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier[v]);
      if (e.leaky) t[v] = leaky(t[v], e.alpha);
    }
    if (e.real) return store_reals<kFour>(e, t, reinterpret_cast<f32*>(dst) + w.first, columns);
    __m512i n[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = kBounded ? _mm512_cvtps_epi32(t[v]) : nearest(t[v]);
    __m512i codes = codes_behind_table(e, n, limits);
    if (!kFour) codes = in_register_order(codes);
    _mm512_mask_storeu_epi8(dst + w.first, first_lanes64(columns), codes);
  }

  template <bool kFour, bool kBounded>
  void rows(const Waiting& w) const {
    __m512 multiplier[4];
    for (int v = 0; v < 4; ++v) {
      multiplier[v] =
          v < w.tiles ? _mm512_loadu_ps(job.multiplier + w.first + 16 * v) : _mm512_setzero_ps();
    }
    for (s64 r = w.rows->skip; r < job.rows; ++r) row<kFour, kBounded>(w, r, multiplier);
  }

  void operator()(const Waiting& w) const {
    if (w.tiles == 0) return;
    if (w.tiles == kProductBlock) {
      job.bounded ? rows<true, true>(w) : rows<true, false>(w);
    } else {
      job.bounded ? rows<false, true>(w) : rows<false, false>(w);
    }
  }
};

// Rows whose last step would reach past their end are copied; the copy ends in zeros.
void copy_rows(const ProductJob& job, s64 steps, RowTile& rows) {
  for (s64 r = 0; r < job.rows; ++r) {
    for (s64 s = 0; s < steps; ++s) {
      const s64 at = s * kProductStep;
      const __m512i bytes =
          _mm512_maskz_loadu_epi8(first_lanes64(job.k - at), rows.src + r * rows.stride + at);
      _mm512_storeu_si512(job.rows_copy + (r * steps + s) * kProductStep, bytes);
    }
  }
  rows.src = job.rows_copy;
  rows.stride = steps * kProductStep;
}

void read_rows(const ProductJob& job, s64 tile, s64 steps, RowTile& rows) {
  const s64 wanted = tile * job.rows, last = job.m - job.rows;
  const s64 first = wanted < last ? wanted : last;
  rows.skip = wanted - first;
  rows.src = job.a + first * job.a_row;
  rows.stride = job.a_row;
  rows.dst = job.y + first * job.y_row;
  for (s64 r = 0; r < job.rows; ++r) {
    if (job.zero_b == 0) {
      rows.terms[r] = 0;
      continue;
    }
    const auto sum = static_cast<u32>(row_sum_vnni(rows.src + r * rows.stride, job.k));
    rows.terms[r] = static_cast<s32>(0 - static_cast<u32>(job.zero_b) * sum);  // modulo 2^32
  }
  if (job.k % kProductStep != 0) copy_rows(job, steps, rows);
}

}  // namespace

void matmul_u8u8_tiles_amx(const ProductJob& job) {
  amx_configure(job.rows);
  const Finisher finish{job, code_limits(*job.epilogue)};
  const s64 steps = (job.k + kProductStep - 1) / kProductStep;
  RowTile rows[2];  // the block that waits may be one of the tile before
  Waiting waiting;
  s64 parity = 0;
  for (s64 tile = job.first_tile; tile < job.last_tile; ++tile) {
    RowTile& own = rows[tile % 2];
    read_rows(job, tile, steps, own);
    asm volatile("" ::: "memory");  // what was copied is read by instructions that do not say so
    const u8* packed = job.packed;
    for (s64 first = 0; first < job.n; first += kProductBlock * kProductColumns) {
      const s64 left = (job.n - first + kProductColumns - 1) / kProductColumns;
      const s64 tiles = left < kProductBlock ? left : kProductBlock;
      s32* sums = job.sums + parity * kProductBlock * kTileSums;
      parity ^= 1;
      multiply(tiles, own, steps, packed, job.columns + first, sums);
      finish(waiting);
      waiting = {tiles, first, sums, &own};
      packed += steps * tiles * kProductTile;
    }
  }
  finish(waiting);
  _tile_release();
}

}  // namespace octet
