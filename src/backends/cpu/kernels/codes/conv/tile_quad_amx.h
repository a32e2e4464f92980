// SPDX-License-Identifier: Apache-2.0
// What one 64-byte register of codes holds in a convolution on tiles: loading its residuals, storing it. Included by
// tile_finish_amx.h alone.
#pragma once

#include "backends/cpu/kernels/codes/conv/tile_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

// Constants of Finish::sum and Finish::relu_sum.
struct TileSumConstants : SumConstants {
  // Less the product of byte_base and the residual's multiplier, a power of two times the latter.
  __m512 base_product;
  __m512i bytes[4];  // bytes 4 * v .. 4 * v + 3 of each lane to the lowest of its 4 numbers

  explicit TileSumConstants(const EpilogueArgs& e)
      : SumConstants(e), base_product(_mm512_set1_ps(-kByteBase * e.residual_multiplier)) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      bytes[v] = _mm512_add_epi8(_mm512_set4_epi32(3, 2, 1, 0), _mm512_set1_epi32(4 * v));
  }

  // sum() of a residual with zero point 0: its base leaves with the multiplication, which rounds the same product once.
  __m512 relu_sum(__m512 t, __m512i based) const {
    const __m512 b = _mm512_fmadd_ps(_mm512_castsi512_ps(based), residual, base_product);
    return _mm512_fmadd_ps(first_code(t), own, b);
  }
};

// Where a row of a quad goes, and what is added to it.
struct QuadRow {
  u8* dst;
  const u8* residual;
};

// The channels of a block that exist: of all, and of each tile.
template <int kTiles>
struct TileLanes {
  __mmask64 all;
  __mmask16 of[kTiles];

  explicit TileLanes(s64 channels) : all(first_lanes64(channels)) {
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) of[v] = first_lanes16(channels - v * 16);
  }
};

// Register v of a quad holds 16 channels: tile `v % kTiles` of row `v / kTiles`. In a block of 4 tiles the channels are
// packed so that narrowing leaves them in order. kAll: no channels to leave out.
template <int kTiles, bool kAll>
struct Quad {
  static constexpr int kRows = kTiles > 2 ? 1 : 4 / kTiles;
  static constexpr int kRegisters = kRows * kTiles;

  TileLanes<kTiles> lanes;
  QuadRow rows[kRows];

  // The residual's 16 codes that belong to register v.
  __m128i residuals_of(int v) const {
    const u8* codes = rows[v / kTiles].residual + v % kTiles * 16;
    if (kAll) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
    return _mm_maskz_loadu_epi8(lanes.of[v % kTiles], codes);
  }

  __m512i row_of_residuals() const {
    if (kAll && kTiles == 4) return _mm512_loadu_si512(rows[0].residual);
    return _mm512_maskz_loadu_epi8(lanes.all, rows[0].residual);
  }

  void load_residuals(__m512i r[4]) const {
    if (kTiles == 4) return widen_in_lanes(row_of_residuals(), r);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      r[v] = v < kRegisters ? _mm512_cvtepu8_epi32(residuals_of(v)) : _mm512_setzero_si512();
    }
  }

  // Each residual as the lowest byte of its number.
  void load_bytes(const TileSumConstants& c, __m512i r[4]) const {
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

  void add_residuals(const EpilogueArgs& e, __m512 t[4]) const {
    __m512i r[4];
    load_residuals(r);
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) t[v] = add_residual(e, t[v], r[v]);
  }

  void store_real(const EpilogueArgs& e, const __m512 t[4]) const {
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) {
      f32* dst = reinterpret_cast<f32*>(rows[v / kTiles].dst) + v % kTiles * 16;
      _mm512_mask_storeu_ps(dst, lanes.of[v % kTiles], e.clip ? clip(e, t[v]) : t[v]);
    }
  }

  void store_codes(__m512i codes) const {
    if constexpr (kAll && kTiles == 4) {
      _mm512_storeu_si512(rows[0].dst, codes);
    } else if constexpr (kTiles > 2) {
      _mm512_mask_storeu_epi8(rows[0].dst, lanes.all, codes);
    } else if constexpr (kTiles == 2) {
      store_row(0, _mm512_castsi512_si256(codes));
      store_row(1, _mm512_extracti64x4_epi64(codes, 1));
    } else {
      store_row(0, _mm512_castsi512_si128(codes));
      store_row(1, _mm512_extracti32x4_epi32(codes, 1));
      store_row(2, _mm512_extracti32x4_epi32(codes, 2));
      store_row(3, _mm512_extracti32x4_epi32(codes, 3));
    }
  }

  void store_row(int row, __m256i codes) const {
    if (kAll) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows[row].dst), codes);
    } else {
      _mm256_mask_storeu_epi8(rows[row].dst, static_cast<__mmask32>(lanes.all), codes);
    }
  }
  void store_row(int row, __m128i codes) const {
    if (kAll) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[row].dst), codes);
    } else {
      _mm_mask_storeu_epi8(rows[row].dst, lanes.of[0], codes);
    }
  }
};

}  // namespace
}  // namespace octet
