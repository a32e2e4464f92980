// SPDX-License-Identifier: Apache-2.0
// The second half of a convolution on tiles: sums become codes or reals, a few rows at a time, while the next block is
// multiplied. Included by tile_conv_amx.cc alone.
#pragma once

#include "backends/cpu/kernels/conv/tile_args.h"
#include "backends/cpu/kernels/simd_vnni.h"

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
enum class Finish { saturate, bound, general };

// Sums that wait to become codes. A quad is what one 64-byte register of codes holds: a row of 3 or 4 channel tiles, two
// rows of 2, four rows of 1.
struct Finisher {
  const TileJob& job;
  CodeLimits limits;
  Finish kind = Finish::general;
  s64 width = 0;  // channel tiles of the block
  s64 quads_of_tile = 0;
  s64 tiles = 0;  // of pixels; 0: nothing waits
  s64 tile = 0, quad = 0;
  const s32* sums = nullptr;
  const f32* multiplier = nullptr;
  s64 position = 0;  // first channel, in dst
  s64 channels = 0;  // of the block
  PixelTile pixels[kMaxTiles];

  s64 left() const { return tiles * quads_of_tile; }
};

Finish kind_of(const TileJob& job) {
  const EpilogueArgs& e = *job.epilogue;
  if (!job.bounded || job.residual != nullptr || e.leaky || e.table != nullptr || e.real)
    return Finish::general;
  return e.zero_point == 0 && e.lo == 0 && e.hi == 255 ? Finish::saturate : Finish::bound;
}

// Where a row of a quad goes; one that is no pixel goes nowhere.
struct QuadRow {
  u8* dst;
  s64 residual;
  bool inside;
};

// Register v of a quad holds 16 channels: tile `v % kTiles` of row `v / kTiles`. In a block of 4 tiles the channels are
// packed so that narrowing leaves them in order.
template <int kTiles>
struct Quad {
  static constexpr int kRows = kTiles > 2 ? 1 : 4 / kTiles;
  static constexpr int kRegisters = kRows * kTiles;

  const TileJob& job;
  s64 channels;
  QuadRow rows[kRows];

  __mmask16 lanes(int v) const {
    return first_lanes16(rows[v / kTiles].inside ? channels - v % kTiles * 16 : 0);
  }

  void add_residuals(__m512 t[4]) const {
    const EpilogueArgs& e = *job.epilogue;
    __m512i r[4];
    if (kTiles == 4) {
      const __mmask64 mask = rows[0].inside ? first_lanes64(channels) : 0;
      widen_in_lanes(_mm512_maskz_loadu_epi8(mask, job.residual + rows[0].residual), r);
    } else {
#pragma GCC unroll 4
      for (int v = 0; v < kRegisters; ++v) {
        const u8* residual = job.residual + rows[v / kTiles].residual + v % kTiles * 16;
        r[v] = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes(v), residual));
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) t[v] = add_residual(e, t[v], r[v]);
  }

  void store_real(const __m512 t[4]) const {
    const EpilogueArgs& e = *job.epilogue;
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) {
      f32* dst = reinterpret_cast<f32*>(rows[v / kTiles].dst) + v % kTiles * 16;
      _mm512_mask_storeu_ps(dst, lanes(v), e.clip ? clip(e, t[v]) : t[v]);
    }
  }

  void store_codes(__m512i codes, __mmask64 mask) const {
    if constexpr (kTiles > 2) {
      if (rows[0].inside) _mm512_mask_storeu_epi8(rows[0].dst, mask, codes);
    } else if constexpr (kTiles == 2) {
      const auto mask32 = static_cast<__mmask32>(mask);
      if (rows[0].inside)
        _mm256_mask_storeu_epi8(rows[0].dst, mask32, _mm512_castsi512_si256(codes));
      if (rows[1].inside)
        _mm256_mask_storeu_epi8(rows[1].dst, mask32, _mm512_extracti64x4_epi64(codes, 1));
    } else {
      const auto mask16 = static_cast<__mmask16>(mask);
      if (rows[0].inside) _mm_mask_storeu_epi8(rows[0].dst, mask16, _mm512_castsi512_si128(codes));
      if (rows[1].inside)
        _mm_mask_storeu_epi8(rows[1].dst, mask16, _mm512_extracti32x4_epi32(codes, 1));
      if (rows[2].inside)
        _mm_mask_storeu_epi8(rows[2].dst, mask16, _mm512_extracti32x4_epi32(codes, 2));
      if (rows[3].inside)
        _mm_mask_storeu_epi8(rows[3].dst, mask16, _mm512_extracti32x4_epi32(codes, 3));
    }
  }
};

// What is the same for all quads of a block.
template <int kTiles>
struct BlockConstants {
  const TileJob& job;
  CodeLimits limits;
  s64 channels;
  __mmask64 mask;
  __m512 multiplier[kTiles];

  explicit BlockConstants(const Finisher& f)
      : job(f.job), limits(f.limits), channels(f.channels), mask(first_lanes64(f.channels)) {
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) multiplier[v] = _mm512_loadu_ps(f.multiplier + v * 16);
  }
};

template <int kTiles, Finish kKind>
inline __m512i to_codes(const BlockConstants<kTiles>& b, const __m512i n[4]) {
  __m512i codes;
  if constexpr (kKind == Finish::saturate) {
    codes = _mm512_packus_epi16(_mm512_packs_epi32(n[0], n[1]), _mm512_packs_epi32(n[2], n[3]));
  } else {
    codes = pack_codes(n, b.limits);
  }
  return kTiles == 4 ? codes : in_register_order(codes);
}

template <int kTiles, Finish kKind>
inline void finish_quad(const BlockConstants<kTiles>& b, const s32* sums,
                        const Quad<kTiles>& quad) {
  constexpr int kRegisters = Quad<kTiles>::kRegisters;
  const EpilogueArgs& e = *b.job.epilogue;
  __m512 t[4];
  __m512i n[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    t[v] = v < kRegisters
               ? _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sums + v % kTiles * kTileSums +
                                                                     v / kTiles * kTileColumns)),
                               b.multiplier[v % kTiles])
               : _mm512_setzero_ps();
  }
  if constexpr (kKind != Finish::general) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = _mm512_cvtps_epi32(t[v]);
    return quad.store_codes(to_codes<kTiles, kKind>(b, n), b.mask);
  }
  if (b.job.residual != nullptr) quad.add_residuals(t);
  if (e.leaky) {
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) t[v] = leaky(t[v], e.alpha);
  }
  if (e.real) return quad.store_real(t);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) n[v] = nearest(t[v]);
  __m512i codes = to_codes<kTiles, kKind>(b, n);
  if (e.table != nullptr) codes = look_up(codes, e.table);
  quad.store_codes(codes, b.mask);
}

// `count` quads of one tile: stretches of pixels without a look at each, then those at the end of an image's row.
template <int kTiles, Finish kKind>
void finish_quads(Finisher& f, PixelTile& p, s64 count) {
  using Q = Quad<kTiles>;
  const TileJob& job = f.job;
  const BlockConstants<kTiles> b(f);
  const s64 size = kKind == Finish::general && job.epilogue->real ? 4 : 1;
  const s64 step = job.out.pixel, residual_step = job.residual_strides.pixel;
  s64 row = f.quad * Q::kRows;
  const s32* sums = f.sums + f.tile * kTiles * kTileSums + row * kTileColumns;
  const auto turn = [&] {  // to the next row of the image
    if (p.column < job.grid.pitch) return;
    p.column -= job.grid.pitch;
    p.dst += job.out.row - job.grid.pitch * step;
    p.residual += job.residual_strides.row - job.grid.pitch * residual_step;
  };
  while (count > 0) {
    const s64 pixels = job.grid.run - p.column, rows = job.grid.rows - row;
    s64 whole = (pixels < rows ? pixels : rows) / Q::kRows;
    if (whole > count) whole = count;
    if (whole > 0) {
      u8* dst = job.dst + p.dst + f.position * size;
      s64 residual = p.residual + f.position;
      for (s64 i = 0; i < whole; ++i, sums += Q::kRows * kTileColumns) {
        Q quad{job, b.channels, {}};
#pragma GCC unroll 4
        for (int r = 0; r < Q::kRows; ++r) {
          quad.rows[r] = {dst + r * step, residual + r * residual_step, true};
        }
        finish_quad<kTiles, kKind>(b, sums, quad);
        dst += Q::kRows * step;
        residual += Q::kRows * residual_step;
      }
      p.dst += whole * Q::kRows * step;
      p.residual += whole * Q::kRows * residual_step;
      p.column += whole * Q::kRows;
      row += whole * Q::kRows;
      count -= whole;
      turn();
      continue;
    }
    Q quad{job, b.channels, {}};
    for (int r = 0; r < Q::kRows && row + r < job.grid.rows; ++r) {
      quad.rows[r] = {job.dst + p.dst + f.position * size, p.residual + f.position,
                      p.column < job.grid.run};
      p.dst += step;
      p.residual += residual_step;
      ++p.column;
      turn();
    }
    if (Q::kRows > 1 || quad.rows[0].inside) finish_quad<kTiles, kKind>(b, sums, quad);
    sums += Q::kRows * kTileColumns;
    row += Q::kRows;
    --count;
  }
}

// The next `count` quads, or as many as there are.
template <int kTiles>
inline void finish(Finisher& f, s64 count) {
  while (count > 0 && f.tile < f.tiles) {
    const s64 left = f.quads_of_tile - f.quad;
    const s64 some = left < count ? left : count;
    PixelTile& p = f.pixels[f.tile];
    if (f.kind == Finish::saturate) {
      finish_quads<kTiles, Finish::saturate>(f, p, some);
    } else if (f.kind == Finish::bound) {
      finish_quads<kTiles, Finish::bound>(f, p, some);
    } else {
      finish_quads<kTiles, Finish::general>(f, p, some);
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
