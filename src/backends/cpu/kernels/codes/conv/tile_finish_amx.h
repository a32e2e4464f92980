// SPDX-License-Identifier: Apache-2.0
// The second half of a convolution on tiles: sums become codes or reals, a few rows at a time, while the next block is
// multiplied. Included by tile_conv_amx.cc alone.
#pragma once

#include "backends/cpu/kernels/codes/conv/tile_cursor_amx.h"
#include "backends/cpu/kernels/codes/conv/tile_quad_amx.h"

namespace octet {
namespace {

// How sums become results. Codes that need neither zero point nor bounds save a quarter of the instructions on the two
// vector ports, which is what a short window's time is made of.
//   saturate   codes of zero point 0 and the range of u8
//   bound      codes with a zero point and bounds
//   table      the same, then through a table
//   fine       finer codes, then a table of lines
//   sum        codes with a zero point and bounds, then added to a residual's codes
//   relu_sum   a sum of codes that were never negative, its own and the residual's, as the residual blocks of ResNet have it
//   coded_sum  such a sum whose first codes go through a table, or whose bounds are not known
//   general    anything else
enum class Finish { saturate, bound, table, fine, sum, relu_sum, coded_sum, general };

constexpr bool direct(Finish kind) { return kind == Finish::sum || kind == Finish::relu_sum; }

Finish kind_of(const TileJob& job) {
  const EpilogueArgs& e = *job.epilogue;
  if (e.sums) {
    if (!job.bounded || e.leaky || !e.sum.direct) return Finish::coded_sum;
    const bool whole = e.sum.zero_point == 0 && e.sum.lo == 0 && e.sum.hi == 255;
    const bool finite = e.residual_multiplier > -1e30f && e.residual_multiplier < 1e30f;
    const bool based = e.residual_zero_point == 0 && !e.sum.residual_first && finite;
    return whole && based ? Finish::relu_sum : Finish::sum;
  }
  if (!job.bounded || e.leaky || e.real || job.residual != nullptr) return Finish::general;
  if (e.table != nullptr) return e.fine ? Finish::fine : Finish::table;
  return e.zero_point == 0 && e.lo == 0 && e.hi == 255 ? Finish::saturate : Finish::bound;
}

// A block whose sums wait to become codes. A quad is what one 64-byte register of codes holds: a row of 3 or 4 channel
// tiles, two rows of 2, four rows of 1.
struct Waiting {
  const TileJob& job;
  CodeLimits limits;  // of the codes that are stored
  TileSumConstants sum;
  s64 width = 0;  // channel tiles of the block
  s64 quads_of_tile = 0;
  s64 tiles = 0;  // of pixels; 0: nothing waits
  const s32* sums = nullptr;
  const s32* bias;
  const f32* multiplier;
  s64 channels = 0;  // of the block
  RowWriter writer;
  RowPointers rows;

  Waiting(const TileJob& j, Finish kind)
      : job(j),
        limits(direct(kind) ? sum_limits(*j.epilogue) : code_limits(*j.epilogue)),
        sum(*j.epilogue),
        bias(j.bias),
        multiplier(j.multiplier),
        writer(j) {}
};

// What is the same for all quads of a block, read once: behind a pointer, each store of codes could change it.
template <int kTiles, Finish kKind>
struct BlockConstants {
  const EpilogueArgs& e;
  bool residual;
  CodeLimits limits;
  TileLanes<kTiles> lanes;
  TileSumConstants sum;
  const s32* biases;
  const f32* multipliers;
  __m512i held_bias[kTiles];
  __m512 held_multiplier[kTiles];

  explicit BlockConstants(const Waiting& f)
      : e(*f.job.epilogue),
        residual(f.job.residual != nullptr),
        limits(f.limits),
        lanes(f.channels),
        sum(f.sum),
        biases(f.bias),
        multipliers(f.multiplier) {
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) {
      held_bias[v] = _mm512_load_si512(biases + v * 16);
      held_multiplier[v] = _mm512_load_ps(multipliers + v * 16);
    }
  }

  // A sum's own constants fill the registers.
  __m512i bias(int v) const {
    return direct(kKind) ? _mm512_load_si512(biases + v * 16) : held_bias[v];
  }
  __m512 multiplier(int v) const {
    return direct(kKind) ? _mm512_load_ps(multipliers + v * 16) : held_multiplier[v];
  }
};

template <int kTiles, Finish kKind>
inline __m512i to_codes(const CodeLimits& limits, const __m512i n[4]) {
  __m512i codes;
  if constexpr (kKind == Finish::saturate || kKind == Finish::relu_sum) {
    codes = _mm512_packus_epi16(_mm512_packs_epi32(n[0], n[1]), _mm512_packs_epi32(n[2], n[3]));
  } else {
    codes = pack_codes(n, limits);
  }
  return kTiles == 4 ? codes : in_register_order(codes);
}

template <int kTiles, Finish kKind, bool kAll>
[[gnu::always_inline]] inline void finish_quad(const BlockConstants<kTiles, kKind>& b,
                                               const s32* sums, const Quad<kTiles, kAll>& quad) {
  constexpr int kRegisters = Quad<kTiles, kAll>::kRegisters;
  const EpilogueArgs& e = b.e;
  __m512 t[4];
  __m512i n[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    if (v >= kRegisters) {
      t[v] = _mm512_setzero_ps();
      continue;
    }
    const int tile = v % kTiles, row = v / kTiles;
    const __m512i sum = _mm512_load_si512(sums + tile * kTileSums + row * kTileColumns);
    const __m512i biased = _mm512_add_epi32(sum, b.bias(tile));
    t[v] = _mm512_mul_ps(_mm512_cvtepi32_ps(biased), b.multiplier(tile));
  }
  if constexpr (direct(kKind)) {
    quad.load_bytes(b.sum, n);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      n[v] = _mm512_cvtps_epi32(kKind == Finish::sum ? b.sum.sum(t[v], n[v])
                                                     : b.sum.relu_sum(t[v], n[v]));
    }
    return quad.store_codes(to_codes<kTiles, kKind>(b.limits, n));
  }
  if constexpr (kKind == Finish::fine) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = _mm512_cvtps_epi32(t[v]);
    const __m512i codes = fine_codes(n, b.limits, e.table);
    return quad.store_codes(kTiles == 4 ? codes : in_register_order(codes));
  }
  if constexpr (kKind == Finish::saturate || kKind == Finish::bound || kKind == Finish::table) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = _mm512_cvtps_epi32(t[v]);
    const __m512i codes = to_codes<kTiles, kKind>(b.limits, n);
    return quad.store_codes(kKind == Finish::table ? look_up(codes, e.table) : codes);
  }
  if (kKind == Finish::general && b.residual) quad.add_residuals(e, t);
  if (e.leaky) {
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) t[v] = leaky(t[v], e.alpha);
  }
  if (kKind == Finish::general && e.real) return quad.store_real(e, t);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) n[v] = nearest(t[v]);
  __m512i codes = codes_behind_table(e, n, b.limits);
  if (kTiles != 4) codes = in_register_order(codes);
  if constexpr (kKind == Finish::coded_sum) codes = sum_codes(e, codes, quad.packed_residuals());
  quad.store_codes(codes);
}

// Turns a block's quads into codes. Lives in registers: nothing here may be pointed to. kAll: all channels exist.
template <int kTiles, Finish kKind, bool kAll>
class Quads {
 public:
  explicit Quads(const Waiting& f)
      : constants_(f),
        sums_(f.sums),
        dst_(f.rows.dst),
        residual_(f.rows.residual),
        left_(f.tiles > 0 ? f.quads_of_tile : 0),
        of_tile_(f.quads_of_tile),
        tiles_(f.tiles) {}

  // The next `count`, or as many as there are.
  [[gnu::always_inline]] void finish(s64 count) {
    while (count > 0 && left_ > 0) {
      const s64 some = left_ < count ? left_ : count;
      for (s64 i = 0; i < some; ++i) one();
      count -= some;
      left_ -= some;
      if (left_ > 0 || --tiles_ == 0) return;
      left_ = of_tile_;
      sums_ += kTiles * kTileSums - of_tile_ * Q::kRows * kTileColumns;
    }
  }

 private:
  using Q = Quad<kTiles, kAll>;

  [[gnu::always_inline]] void one() {
    Q quad{constants_.lanes, {}};
#pragma GCC unroll 4
    for (int r = 0; r < Q::kRows; ++r) quad.rows[r] = {dst_[r], residual_[r]};
    finish_quad<kTiles, kKind>(constants_, sums_, quad);
    sums_ += Q::kRows * kTileColumns;
    dst_ += Q::kRows;
    residual_ += Q::kRows;
  }

  const BlockConstants<kTiles, kKind> constants_;
  const s32* sums_;
  u8* const* dst_;
  const u8* const* residual_;
  s64 left_;  // of the tile
  s64 of_tile_, tiles_;
};

template <int kTiles, Finish kKind>
void finish_width(Waiting& f) {
  if (f.width != kTiles) return;
  const s64 quads = f.tiles * f.quads_of_tile;
  if (f.channels == kTiles * kTileColumns) {
    Quads<kTiles, kKind, true>(f).finish(quads);
  } else {
    Quads<kTiles, kKind, false>(f).finish(quads);
  }
}

template <Finish kKind>
void finish_all(Waiting& f) {
  finish_width<4, kKind>(f);
  finish_width<3, kKind>(f);
  finish_width<2, kKind>(f);
  finish_width<1, kKind>(f);
  f.tiles = 0;
}

}  // namespace
}  // namespace octet
