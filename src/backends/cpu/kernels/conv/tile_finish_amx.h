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
// `coded_sum` is a sum whose first codes go through a table, or whose bounds are not known.
enum class Finish { saturate, bound, sum, coded_sum, general };

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
  if (e.sums) return job.bounded && !e.leaky && e.sum.direct ? Finish::sum : Finish::coded_sum;
  if (!job.bounded || e.leaky || e.table != nullptr || e.real) return Finish::general;
  if (job.residual != nullptr) return Finish::general;
  return e.zero_point == 0 && e.lo == 0 && e.hi == 255 ? Finish::saturate : Finish::bound;
}

// Constants of one way to finish.
template <Finish kKind>
struct KindConstants {
  explicit KindConstants(const EpilogueArgs&) {}
};
template <>
struct KindConstants<Finish::sum> : SumConstants {
  __m512i bytes[4];  // bytes 4 * v .. 4 * v + 3 of each lane to the lowest of its 4 numbers

  explicit KindConstants(const EpilogueArgs& e) : SumConstants(e) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      bytes[v] = _mm512_add_epi8(_mm512_set4_epi32(3, 2, 1, 0), _mm512_set1_epi32(4 * v));
  }
};

// Where a row of a quad goes; one that is no pixel goes nowhere.
struct QuadRow {
  u8* dst;
  s64 residual;
  bool inside;
};

// The channels of each tile that exist.
template <int kTiles>
struct TileLanes {
  __mmask16 of[kTiles];

  explicit TileLanes(s64 channels) {
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) of[v] = first_lanes16(channels - v * 16);
  }
};

// Register v of a quad holds 16 channels: tile `v % kTiles` of row `v / kTiles`. In a block of 4 tiles the channels are
// packed so that narrowing leaves them in order.
template <int kTiles>
struct Quad {
  static constexpr int kRows = kTiles > 2 ? 1 : 4 / kTiles;
  static constexpr int kRegisters = kRows * kTiles;

  const TileJob& job;
  s64 channels;
  TileLanes<kTiles> tile_lanes;
  QuadRow rows[kRows];

  __mmask16 lanes(int v) const {
    return rows[v / kTiles].inside ? tile_lanes.of[v % kTiles] : static_cast<__mmask16>(0);
  }

  // The residual's 16 codes that belong to register v.
  __m128i residuals_of(int v) const {
    const u8* residual = job.residual + rows[v / kTiles].residual + v % kTiles * 16;
    return _mm_maskz_loadu_epi8(lanes(v), residual);
  }

  __m512i row_of_residuals() const {
    const __mmask64 mask = rows[0].inside ? first_lanes64(channels) : 0;
    return _mm512_maskz_loadu_epi8(mask, job.residual + rows[0].residual);
  }

  void load_residuals(__m512i r[4]) const {
    if (kTiles == 4) return widen_in_lanes(row_of_residuals(), r);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      r[v] = v < kRegisters ? _mm512_cvtepu8_epi32(residuals_of(v)) : _mm512_setzero_si512();
    }
  }

  // Each residual as the lowest byte of its number.
  void load_bytes(const KindConstants<Finish::sum>& c, __m512i r[4]) const {
    if constexpr (kTiles == 4) {
      const __m512i row = row_of_residuals();
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v)
        r[v] = _mm512_mask_shuffle_epi8(c.byte_base, 0x1111111111111111, row, c.bytes[v]);
    } else {
      load_residuals(r);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) r[v] = _mm512_or_si512(r[v], c.byte_base);
    }
  }

  // All residuals of the quad in the order of its codes.
  __m512i packed_residuals() const {
    if (kTiles > 2) return row_of_residuals();
    __m512i r = _mm512_castsi128_si512(residuals_of(0));
    r = _mm512_inserti32x4(r, residuals_of(1), 1);
    r = _mm512_inserti32x4(r, residuals_of(2), 2);
    return _mm512_inserti32x4(r, residuals_of(3), 3);
  }

  void add_residuals(__m512 t[4]) const {
    __m512i r[4];
    load_residuals(r);
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) t[v] = add_residual(*job.epilogue, t[v], r[v]);
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
template <int kTiles, Finish kKind>
struct BlockConstants {
  const TileJob& job;
  CodeLimits limits;  // of the codes that are stored
  s64 channels;
  __mmask64 mask;
  TileLanes<kTiles> tile_lanes;
  __m512 multiplier[kTiles];
  KindConstants<kKind> of_kind;

  explicit BlockConstants(const Finisher& f)
      : job(f.job),
        limits(kKind == Finish::sum ? sum_limits(*f.job.epilogue) : f.limits),
        channels(f.channels),
        mask(first_lanes64(f.channels)),
        tile_lanes(f.channels),
        of_kind(*f.job.epilogue) {
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) multiplier[v] = _mm512_loadu_ps(f.multiplier + v * 16);
  }
};

template <int kTiles, Finish kKind>
inline __m512i to_codes(const BlockConstants<kTiles, kKind>& b, const __m512i n[4]) {
  __m512i codes;
  if constexpr (kKind == Finish::saturate) {
    codes = _mm512_packus_epi16(_mm512_packs_epi32(n[0], n[1]), _mm512_packs_epi32(n[2], n[3]));
  } else {
    codes = pack_codes(n, b.limits);
  }
  return kTiles == 4 ? codes : in_register_order(codes);
}

template <int kTiles, Finish kKind>
inline void finish_quad(const BlockConstants<kTiles, kKind>& b, const s32* sums,
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
  if constexpr (kKind == Finish::sum) {
    quad.load_bytes(b.of_kind, n);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = _mm512_cvtps_epi32(b.of_kind.sum(t[v], n[v]));
    return quad.store_codes(to_codes<kTiles, kKind>(b, n), b.mask);
  }
  if constexpr (kKind == Finish::saturate || kKind == Finish::bound) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) n[v] = _mm512_cvtps_epi32(t[v]);
    return quad.store_codes(to_codes<kTiles, kKind>(b, n), b.mask);
  }
  if (kKind == Finish::general && b.job.residual != nullptr) quad.add_residuals(t);
  if (e.leaky) {
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) t[v] = leaky(t[v], e.alpha);
  }
  if (kKind == Finish::general && e.real) return quad.store_real(t);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) n[v] = nearest(t[v]);
  __m512i codes = to_codes<kTiles, kKind>(b, n);
  if (e.table != nullptr) codes = look_up(codes, e.table);
  if constexpr (kKind == Finish::coded_sum) codes = sum_codes(e, codes, quad.packed_residuals());
  quad.store_codes(codes, b.mask);
}

// `count` quads of one tile: stretches of pixels without a look at each, then those at the end of an image's row.
template <int kTiles, Finish kKind>
void finish_quads(Finisher& f, PixelTile& p, s64 count) {
  using Q = Quad<kTiles>;
  const TileJob& job = f.job;
  const BlockConstants<kTiles, kKind> b(f);
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
        Q quad{job, b.channels, b.tile_lanes, {}};
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
    Q quad{job, b.channels, b.tile_lanes, {}};
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
    } else if (f.kind == Finish::sum) {
      finish_quads<kTiles, Finish::sum>(f, p, some);
    } else if (f.kind == Finish::coded_sum) {
      finish_quads<kTiles, Finish::coded_sum>(f, p, some);
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
