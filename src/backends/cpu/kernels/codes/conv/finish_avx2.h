// SPDX-License-Identifier: Apache-2.0
// Accumulators of 16 channels -> codes or reals, with AVX2: shared by the 256-bit kernels, of internal linkage.
// Two pixels at once fill the registers of the packing.
#pragma once

#include "backends/cpu/kernels/codes/conv/conv_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

inline void store_real(const EpilogueArgs& e, const __m256 t[2], f32* dst, s64 channels) {
  alignas(32) f32 y[16];
  if (channels >= 16) {
    for (int v = 0; v < 2; ++v) _mm256_storeu_ps(dst + 8 * v, e.clip ? clip(e, t[v]) : t[v]);
    return;
  }
  for (int v = 0; v < 2; ++v) _mm256_store_ps(y + 8 * v, e.clip ? clip(e, t[v]) : t[v]);
  memcpy(dst, y, sizeof(f32) * static_cast<size_t>(channels));
}

// The result of one pixel before rounding: channels [c, c + 16) of the tile.
inline void scaled(const ConvTile& tile, s64 pixel, s64 c, const __m256i acc[2], __m256 t[2]) {
  const EpilogueArgs& e = *tile.epilogue;
  for (int v = 0; v < 2; ++v) {
    const __m256 multiplier = _mm256_loadu_ps(tile.multiplier + c + 8 * v);
    t[v] = _mm256_mul_ps(_mm256_cvtepi32_ps(acc[v]), multiplier);
  }
  if (tile.residual != nullptr && !e.sums) {
    const u8* residual = tile.residual[pixel] + tile.first_channel + c;
    const __m128i r = load_bytes16(residual, tile.channels - c);
    t[0] = add_residual(e, t[0], _mm256_cvtepu8_epi32(r));
    t[1] = add_residual(e, t[1], _mm256_cvtepu8_epi32(_mm_srli_si128(r, 8)));
  }
  if (e.leaky) {
    for (int v = 0; v < 2; ++v) t[v] = leaky(t[v], e.alpha);
  }
}

// Codes of t[0], t[1] (one pixel) in the lower half, of t[2], t[3] in the upper.
inline __m256i codes_in_order(const EpilogueArgs& e, const __m256 t[4]) {
  const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
  return _mm256_permutevar8x32_epi32(final_codes(e, t), order);
}

// The residuals of the pixels that codes_in_order has.
template <int kPixels>
inline __m256i residuals_in_order(const ConvTile& tile, s64 pixel, s64 c) {
  const auto load = [&](s64 m) {
    return load_bytes16(tile.residual[m] + tile.first_channel + c, tile.channels - c);
  };
  const __m256i low = _mm256_castsi128_si256(load(pixel));
  return kPixels == 2 ? _mm256_inserti128_si256(low, load(pixel + 1), 1) : low;
}

// Pixels `pixel` and, when kPixels is 2, the one behind it.
template <int kPixels>
inline void finish(const ConvTile& tile, s64 pixel, s64 c, const __m256i acc[kPixels][2]) {
  const EpilogueArgs& e = *tile.epilogue;
  const s64 channels = tile.channels - c;
  const s64 position = tile.first_channel + c;
  __m256 t[4];
  for (int m = 0; m < 2; ++m) scaled(tile, pixel + m % kPixels, c, acc[m % kPixels], t + 2 * m);
  if (e.real) {
    for (int m = 0; m < kPixels; ++m) {
      store_real(e, t + 2 * m, reinterpret_cast<f32*>(tile.dst[pixel + m]) + position, channels);
    }
    return;
  }
  __m256i codes = codes_in_order(e, t);
  if (e.sums) codes = sum_codes(e, codes, residuals_in_order<kPixels>(tile, pixel, c));
  store_bytes16(_mm256_castsi256_si128(codes), tile.dst[pixel] + position, channels);
  if constexpr (kPixels == 2) {
    store_bytes16(_mm256_extracti128_si256(codes, 1), tile.dst[pixel + 1] + position, channels);
  }
}

inline __m256i rounded(__m256i sum, __m256 multiplier) {
  return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), multiplier));
}

// See ConvTile::plain. What the stores might overwrite as far as the compiler knows is copied first.
template <int kPixels>
[[gnu::always_inline]] inline void finish_plain(const ConvTile& tile, s64 c,
                                                const __m256i acc[kPixels][2]) {
  const EpilogueArgs e = *tile.epilogue;
  const __m256 low = _mm256_loadu_ps(tile.multiplier + c);
  const __m256 high = _mm256_loadu_ps(tile.multiplier + c + 8);
  const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
  const s64 channels = tile.channels - c;
  const s64 position = tile.first_channel + c;
#pragma GCC unroll 4
  for (int m = 0; m < kPixels; m += 2) {
    const int next = m + 1 < kPixels ? m + 1 : m;
    const __m256i n[4] = {rounded(acc[m][0], low), rounded(acc[m][1], high),
                          rounded(acc[next][0], low), rounded(acc[next][1], high)};
    const __m256i codes = _mm256_permutevar8x32_epi32(codes_behind_table(e, n), order);
    store_bytes16(_mm256_castsi256_si128(codes), tile.dst[m] + position, channels);
    if (next != m)
      store_bytes16(_mm256_extracti128_si256(codes, 1), tile.dst[next] + position, channels);
  }
}

// The codes of a residual's 16 channels as u32.
inline void load_residual(const u8* src, s64 channels, __m256i r[2]) {
  if (channels >= 16) {
    r[0] = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(src)));
    r[1] = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(src + 8)));
    return;
  }
  const __m128i bytes = load_bytes16(src, channels);
  r[0] = _mm256_cvtepu8_epi32(bytes);
  r[1] = _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8));
}

// All pixels of a register tile where both roundings can stay in registers (SumArgs::direct) and nothing leaves the range of
// s32 (ConvTile::bounded).
template <int kPixels, bool kResidualFirst>
[[gnu::noinline]] void finish_direct(const ConvTile& tile, s64 c, const __m256i acc[kPixels][2]) {
  const SumArgs sum = tile.epilogue->sum;
  const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
  const __m256 multiplier[2] = {_mm256_loadu_ps(tile.multiplier + c),
                                _mm256_loadu_ps(tile.multiplier + c + 8)};
  const __m256 rounder = _mm256_set1_ps(kRounder);
  const __m256 lo = _mm256_set1_ps(sum.rounded_lo), hi = _mm256_set1_ps(sum.rounded_hi);
  const __m256i base = _mm256_castps_si256(_mm256_set1_ps(kByteBase));
  const __m256 zero = _mm256_set1_ps(sum.residual_zero);
  const __m256 ma = _mm256_set1_ps(sum.own_multiplier);
  const __m256 mb = _mm256_set1_ps(tile.epilogue->residual_multiplier);
  const s64 channels = tile.channels - c;
  const s64 position = tile.first_channel + c;
  for (int m = 0; m < kPixels; m += 2) {
    const int pixels[2] = {m, m + 1 < kPixels ? m + 1 : m};
    __m256i n[4];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      __m256i r[2];
      load_residual(tile.residual[pixels[i]] + position, channels, r);
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        const __m256 t = _mm256_mul_ps(_mm256_cvtepi32_ps(acc[pixels[i]][v]), multiplier[v]);
        const __m256 code = _mm256_min_ps(_mm256_max_ps(_mm256_add_ps(t, rounder), lo), hi);
        const __m256 a = _mm256_sub_ps(code, rounder);
        const __m256 b = _mm256_sub_ps(_mm256_castsi256_ps(_mm256_or_si256(r[v], base)), zero);
        n[2 * i + v] =
            _mm256_cvtps_epi32(kResidualFirst ? _mm256_fmadd_ps(b, mb, _mm256_mul_ps(a, ma))
                                              : _mm256_fmadd_ps(a, ma, _mm256_mul_ps(b, mb)));
      }
    }
    const __m256i codes = _mm256_permutevar8x32_epi32(pack_codes(sum, n), order);
    store_bytes16(_mm256_castsi256_si128(codes), tile.dst[m] + position, channels);
    if (m + 1 < kPixels)
      store_bytes16(_mm256_extracti128_si256(codes, 1), tile.dst[m + 1] + position, channels);
  }
}

// All pixels of a register tile. Sums are copied before they are passed on by address, and what takes their own address is
// always inlined: otherwise g++ 12 keeps them in memory all through the loop over the chunks (3x).
template <int kPixels>
[[gnu::always_inline]] inline void finish_tile(const ConvTile& tile, s64 c,
                                               const __m256i acc[kPixels][2]) {
  if (tile.plain) return finish_plain<kPixels>(tile, c, acc);
  const EpilogueArgs& e = *tile.epilogue;
  if (tile.bounded && e.sums && e.sum.direct && !e.leaky) {
    __m256i copy[kPixels][2];
    memcpy(copy, acc, sizeof(copy));
    return e.sum.residual_first ? finish_direct<kPixels, true>(tile, c, copy)
                                : finish_direct<kPixels, false>(tile, c, copy);
  }
#pragma GCC unroll 4
  for (int m = 0; m + 2 <= kPixels; m += 2) {
    const __m256i two[2][2] = {{acc[m][0], acc[m][1]}, {acc[m + 1][0], acc[m + 1][1]}};
    finish<2>(tile, m, c, two);
  }
  if constexpr (kPixels % 2 != 0) {
    const __m256i one[1][2] = {{acc[kPixels - 1][0], acc[kPixels - 1][1]}};
    finish<1>(tile, kPixels - 1, c, one);
  }
}

// The bias of 16 channels, with that of the row, for each pixel.
template <int kPixels>
[[gnu::always_inline]] inline void start_tile(const ConvTile& tile, s64 c,
                                              __m256i acc[kPixels][2]) {
  const void* bias = tile.bias + c;
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) {
    const __m256i row = _mm256_set1_epi32(tile.row_bias != nullptr ? tile.row_bias[m] : 0);
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const __m256i b = _mm256_loadu_si256(static_cast<const __m256i*>(bias) + v);
      acc[m][v] = _mm256_add_epi32(b, row);
    }
  }
}

}  // namespace
}  // namespace octet
