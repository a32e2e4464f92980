// SPDX-License-Identifier: Apache-2.0
// The second half of a convolution on tiles: sums become codes or reals, a few rows at a time, while the next block is
// multiplied. Included by tile_conv_amx.cc alone.
#pragma once

#include "backends/cpu/kernels/conv/tile_quad_amx.h"

namespace octet {
namespace {

constexpr s64 kMaxTiles = 4;  // of pixels in a block
constexpr s64 kTileSums = kTileRows * kTileColumns;

// One tile of pixels: where its windows lie, and where its results go.
struct PixelTile {
  const u8* src;
  s64 stride;
  const s64* offsets;
  s64 dst;       // bytes from the job's
  s64 residual;  // likewise
  s64 column;    // of the next position in its run of pixels
};

// How sums become results. Codes that need neither zero point nor bounds save a quarter of the instructions on the two
// vector ports, which is what a short window's time is made of.
//   saturate   codes of zero point 0 and the range of u8
//   bound      codes with a zero point and bounds
//   sum        the same, then added to a residual's codes
//   coded_sum  such a sum whose first codes go through a table, or whose bounds are not known
//   general    anything else
enum class Finish { saturate, bound, sum, coded_sum, general };

Finish kind_of(const TileJob& job) {
  const EpilogueArgs& e = *job.epilogue;
  if (e.sums) return job.bounded && !e.leaky && e.sum.direct ? Finish::sum : Finish::coded_sum;
  if (!job.bounded || e.leaky || e.table != nullptr || e.real) return Finish::general;
  if (job.residual != nullptr) return Finish::general;
  return e.zero_point == 0 && e.lo == 0 && e.hi == 255 ? Finish::saturate : Finish::bound;
}

// Sums that wait to become codes. A quad is what one 64-byte register of codes holds: a row of 3 or 4 channel tiles, two
// rows of 2, four rows of 1.
struct Finisher {
  const TileJob& job;
  CodeLimits limits;  // of the codes that are stored
  TileSumConstants sum;
  Finish kind;
  bool whole = false;  // of each quad all rows are pixels and all channels exist
  s64 width = 0;       // channel tiles of the block
  s64 quads_of_tile = 0;
  s64 tiles = 0;  // of pixels; 0: nothing waits
  s64 tile = 0, quad = 0;
  const s32* sums = nullptr;
  const s32* bias = nullptr;
  const f32* multiplier = nullptr;
  s64 position = 0;  // first channel, in dst
  s64 channels = 0;  // of the block
  PixelTile pixels[kMaxTiles];

  explicit Finisher(const TileJob& j)
      : job(j),
        limits(kind_of(j) == Finish::sum ? sum_limits(*j.epilogue) : code_limits(*j.epilogue)),
        sum(*j.epilogue),
        kind(kind_of(j)) {}

  s64 left() const { return tiles * quads_of_tile; }
};

// What is the same for all quads of a block, read once: behind a pointer, each store of codes could change it.
template <int kTiles, Finish kKind>
struct BlockConstants {
  const EpilogueArgs& e;
  const u8* residual;
  CodeLimits limits;
  TileLanes<kTiles> lanes;
  TileSumConstants sum;
  const s32* biases;
  const f32* multipliers;
  __m512i held_bias[kTiles];
  __m512 held_multiplier[kTiles];

  explicit BlockConstants(const Finisher& f)
      : e(*f.job.epilogue),
        residual(f.job.residual),
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
    return kKind == Finish::sum ? _mm512_load_si512(biases + v * 16) : held_bias[v];
  }
  __m512 multiplier(int v) const {
    return kKind == Finish::sum ? _mm512_load_ps(multipliers + v * 16) : held_multiplier[v];
  }
};

template <int kTiles, Finish kKind>
inline __m512i to_codes(const CodeLimits& limits, const __m512i n[4]) {
  __m512i codes;
  if constexpr (kKind == Finish::saturate) {
    codes = _mm512_packus_epi16(_mm512_packs_epi32(n[0], n[1]), _mm512_packs_epi32(n[2], n[3]));
  } else {
    codes = pack_codes(n, limits);
  }
  return kTiles == 4 ? codes : in_register_order(codes);
}

template <int kTiles, Finish kKind, bool kWhole>
[[gnu::always_inline]] inline void finish_quad(const BlockConstants<kTiles, kKind>& b,
                                               const s32* sums, const Quad<kTiles, kWhole>& quad) {
  constexpr int kRegisters = Quad<kTiles, kWhole>::kRegisters;
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
  if constexpr (kKind == Finish::sum) {
    quad.load_bytes(b.sum, n);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = _mm512_cvtps_epi32(b.sum.sum(t[v], n[v]));
    return quad.store_codes(to_codes<kTiles, kKind>(b.limits, n));
  }
  if constexpr (kKind == Finish::saturate || kKind == Finish::bound) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = _mm512_cvtps_epi32(t[v]);
    return quad.store_codes(to_codes<kTiles, kKind>(b.limits, n));
  }
  if (kKind == Finish::general && b.residual != nullptr) quad.add_residuals(e, t);
  if (e.leaky) {
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) t[v] = leaky(t[v], e.alpha);
  }
  if (kKind == Finish::general && e.real) return quad.store_real(e, t);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) n[v] = nearest(t[v]);
  __m512i codes = to_codes<kTiles, kKind>(b.limits, n);
  if (e.table != nullptr) codes = look_up(codes, e.table);
  if constexpr (kKind == Finish::coded_sum) codes = sum_codes(e, codes, quad.packed_residuals());
  quad.store_codes(codes);
}

// `count` quads of one tile, each whole.
template <int kTiles, Finish kKind, bool kWhole>
[[gnu::always_inline]] inline void finish_rows(const Finisher& f,
                                               const BlockConstants<kTiles, kKind>& b, PixelTile& p,
                                               const s32* sums, s64 count) {
  using Q = Quad<kTiles, kWhole>;
  const s64 step = f.job.out.pixel, residual_step = f.job.residual_strides.pixel;
  u8* dst = f.job.dst + p.dst + f.position * (kKind == Finish::general && b.e.real ? 4 : 1);
  s64 residual = p.residual + f.position;
  for (s64 i = 0; i < count; ++i, sums += Q::kRows * kTileColumns) {
    Q quad{b.residual, b.lanes, {}};
#pragma GCC unroll 4
    for (int r = 0; r < Q::kRows; ++r, dst += step, residual += residual_step)
      quad.rows[r] = {dst, residual, true};
    finish_quad<kTiles, kKind>(b, sums, quad);
  }
  p.dst += count * Q::kRows * step;
  p.residual += count * Q::kRows * residual_step;
  p.column += count * Q::kRows;
}

// `count` quads of one tile: stretches of pixels, then those at the end of an image's row one by one.
template <int kTiles, Finish kKind>
[[gnu::noinline]] void finish_stretches(Finisher& f, PixelTile& p, s64 count) {
  constexpr int kRows = Quad<kTiles, false>::kRows;
  const TileJob& job = f.job;
  const BlockConstants<kTiles, kKind> b(f);
  const s64 size = kKind == Finish::general && b.e.real ? 4 : 1;
  s64 row = f.quad * kRows;
  const s32* sums = f.sums + f.tile * kTiles * kTileSums + row * kTileColumns;
  const auto turn = [&] {  // to the next row of the image
    if (p.column < job.grid.pitch) return;
    p.column -= job.grid.pitch;
    p.dst += job.out.row - job.grid.pitch * job.out.pixel;
    p.residual += job.residual_strides.row - job.grid.pitch * job.residual_strides.pixel;
  };
  while (count > 0) {
    const s64 pixels = job.grid.run - p.column, rows = job.grid.rows - row;
    s64 stretch = (pixels < rows ? pixels : rows) / kRows;
    if (stretch > count) stretch = count;
    if (stretch > 0) {
      finish_rows<kTiles, kKind, false>(f, b, p, sums, stretch);
      turn();
    } else {
      Quad<kTiles, false> quad{b.residual, b.lanes, {}};
      for (int r = 0; r < kRows && row + r < job.grid.rows; ++r) {
        quad.rows[r] = {job.dst + p.dst + f.position * size, p.residual + f.position,
                        p.column < job.grid.run};
        p.dst += job.out.pixel;
        p.residual += job.residual_strides.pixel;
        ++p.column;
        turn();
      }
      if (kRows > 1 || quad.rows[0].inside) finish_quad<kTiles, kKind>(b, sums, quad);
      stretch = 1;
    }
    sums += stretch * kRows * kTileColumns;
    row += stretch * kRows;
    count -= stretch;
  }
}

template <int kTiles, Finish kKind>
[[gnu::always_inline]] inline void finish_tile(Finisher& f, PixelTile& p, s64 count) {
  if (f.whole) {
    const s64 row = f.quad * Quad<kTiles, true>::kRows;
    const s32* sums = f.sums + f.tile * kTiles * kTileSums + row * kTileColumns;
    finish_rows<kTiles, kKind, true>(f, BlockConstants<kTiles, kKind>(f), p, sums, count);
  } else {
    finish_stretches<kTiles, kKind>(f, p, count);
  }
}

// The next `count` quads, or as many as there are.
template <int kTiles>
[[gnu::always_inline]] inline void finish(Finisher& f, s64 count) {
  while (count > 0 && f.tile < f.tiles) {
    const s64 left = f.quads_of_tile - f.quad;
    const s64 some = left < count ? left : count;
    PixelTile& p = f.pixels[f.tile];
    if (f.kind == Finish::saturate) {
      finish_tile<kTiles, Finish::saturate>(f, p, some);
    } else if (f.kind == Finish::bound) {
      finish_tile<kTiles, Finish::bound>(f, p, some);
    } else if (f.kind == Finish::sum) {
      finish_tile<kTiles, Finish::sum>(f, p, some);
    } else if (f.kind == Finish::coded_sum) {
      finish_tile<kTiles, Finish::coded_sum>(f, p, some);
    } else {
      finish_tile<kTiles, Finish::general>(f, p, some);
    }
    count -= some;
    f.quad += some;
    if (f.quad == f.quads_of_tile) {
      f.quad = 0;
      ++f.tile;
    }
  }
}

void finish_all(Finisher& f) {
  const s64 left = f.left();
  if (f.width == 4) finish<4>(f, left);
  if (f.width == 3) finish<3>(f, left);
  if (f.width == 2) finish<2>(f, left);
  if (f.width == 1) finish<1>(f, left);
  f.tiles = 0;
}

}  // namespace
}  // namespace octet
