// SPDX-License-Identifier: Apache-2.0
// Accumulators of one pixel -> codes or reals, with AVX-512: shared by the vpdpbusd and the tile kernels, of internal linkage.
#pragma once

#include "backends/cpu/kernels/codes/conv/conv_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

template <int kVectors>
inline void store_real(const EpilogueArgs& e, const __m512* t, f32* dst, s64 channels) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 y = e.clip ? clip(e, t[v]) : t[v];
    _mm512_mask_storeu_ps(dst + 16 * v, first_lanes16(channels - 16 * v), y);
  }
}

template <int kVectors>
inline void store_codes(const EpilogueArgs& e, const __m512* t, const u8* residual, u8* dst,
                        s64 channels) {
  const __mmask64 lanes = first_lanes64(channels);
  __m512i n[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) n[v] = v < kVectors ? nearest(t[v]) : _mm512_setzero_si512();
  __m512i codes = in_register_order(codes_behind_table(e, n, code_limits(e)));
  if (e.sums) codes = sum_codes(e, codes, _mm512_maskz_loadu_epi8(lanes, residual));
  _mm512_mask_storeu_epi8(dst, lanes, codes);
}

// One pixel: channels [c, c + 16 * kVectors) of the tile.
template <int kVectors>
[[gnu::always_inline]] inline void finish(const ConvTile& tile, s64 pixel, s64 c,
                                          const __m512i* acc) {
  const EpilogueArgs& e = *tile.epilogue;
  const s64 channels = tile.channels - c;
  const s64 position = tile.first_channel + c;
  __m512 t[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 multiplier = _mm512_loadu_ps(tile.multiplier + c + 16 * v);
    t[v] = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[v]), multiplier);
  }
  const u8* residual = tile.residual != nullptr ? tile.residual[pixel] + position : nullptr;
  if (residual != nullptr && !e.sums) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const __mmask16 lanes = first_lanes16(channels - 16 * v);
      const __m128i r = _mm_maskz_loadu_epi8(lanes, residual + 16 * v);
      t[v] = add_residual(e, t[v], _mm512_cvtepu8_epi32(r));
    }
  }
  if (e.leaky) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) t[v] = leaky(t[v], e.alpha);
  }
  if (e.real) {
    store_real<kVectors>(e, t, reinterpret_cast<f32*>(tile.dst[pixel]) + position, channels);
  } else {
    store_codes<kVectors>(e, t, residual, tile.dst[pixel] + position, channels);
  }
}

// All pixels of a tile, where both roundings can stay in registers (SumArgs::direct). No part of `finish`, which is made for
// staying in line: there, g++ 12 would keep all sums of the tile in memory (3x).
template <int kVectors>
[[gnu::noinline]] void finish_direct(const ConvTile& tile, s64 c, const __m512i* acc) {
  const EpilogueArgs& e = *tile.epilogue;
  const s64 channels = tile.channels - c;
  const s64 position = tile.first_channel + c;
  const SumConstants k(e);
  const CodeLimits limits = sum_limits(e);
  const __mmask64 mask = first_lanes64(channels);
  __m512 multiplier[kVectors];
  __mmask16 lanes[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    multiplier[v] = _mm512_loadu_ps(tile.multiplier + c + 16 * v);
    lanes[v] = first_lanes16(channels - 16 * v);
  }
  for (s64 m = 0; m < tile.pixels; ++m, acc += kVectors) {
    __m512i n[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      n[v] = _mm512_setzero_si512();
      if (v >= kVectors) continue;
      __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[v]), multiplier[v]);
      if (e.leaky) t = leaky(t, e.alpha);
      const __m128i r = _mm_maskz_loadu_epi8(lanes[v], tile.residual[m] + position + 16 * v);
      n[v] = direct_sum(k, t, _mm512_cvtepu8_epi32(r));
    }
    const __m512i codes = in_register_order(pack_codes(n, limits));
    _mm512_mask_storeu_epi8(tile.dst[m] + position, mask, codes);
  }
}

}  // namespace
}  // namespace octet
