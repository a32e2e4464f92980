// SPDX-License-Identifier: Apache-2.0
// Convolution with vpdpbusd: 6 pixels x 64 channels, 24 accumulators, one broadcast of 4 activation bytes for each pixel
// and one load of 4 weight registers for each chunk. Activations are the u8 operand of vpdpbusd, which cannot be a memory
// broadcast, hence 6 pixels and not 7.
#include "backends/cpu/kernels/conv/conv_args.h"
#include "backends/cpu/kernels/simd_vnni.h"

namespace octet {
namespace {

inline __m512i broadcast4(const u8* src) {
  s32 bytes;
  memcpy(&bytes, src, sizeof(bytes));
  return _mm512_set1_epi32(bytes);
}

template <int kVectors>
inline void store_real(const EpilogueArgs& e, const __m512* t, f32* dst, s64 channels) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 y = e.clip ? clip(e, t[v]) : t[v];
    _mm512_mask_storeu_ps(dst + 16 * v, first_lanes16(channels - 16 * v), y);
  }
}

template <int kVectors>
inline void store_codes(const EpilogueArgs& e, const __m512* t, u8* dst, s64 channels) {
  __m512i n[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) n[v] = v < kVectors ? nearest(t[v]) : _mm512_setzero_si512();
  __m512i codes = in_register_order(pack_codes(n, code_limits(e)));
  if (e.table != nullptr) codes = look_up(codes, e.table);
  _mm512_mask_storeu_epi8(dst, first_lanes64(channels), codes);
}

// One pixel: channels [c, c + 16 * kVectors) of the tile.
template <int kVectors>
inline void finish(const ConvTile& tile, s64 pixel, s64 c, const __m512i* acc) {
  const EpilogueArgs& e = *tile.epilogue;
  const s64 channels = tile.channels - c;
  const s64 position = tile.first_channel + c;
  __m512 t[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 multiplier = _mm512_loadu_ps(tile.multiplier + c + 16 * v);
    t[v] = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[v]), multiplier);
  }
  if (tile.residual != nullptr) {
    const u8* residual = tile.residual[pixel] + position;
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
    store_codes<kVectors>(e, t, tile.dst[pixel] + position, channels);
  }
}

template <int kPixels, int kVectors>
void block(const ConvTile& tile, s64 c) {
  __m512i acc[kPixels][kVectors];
  const u8* src[kPixels];
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) {
    src[m] = tile.src[m];
    const __m512i row = _mm512_set1_epi32(tile.row_bias != nullptr ? tile.row_bias[m] : 0);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      acc[m][v] = _mm512_add_epi32(_mm512_loadu_si512(tile.bias + c + 16 * v), row);
    }
  }
  const s8* weights = static_cast<const s8*>(tile.weights) + c * tile.chunks * kConvChunk;
  for (s64 k = 0; k < tile.chunks; ++k) {
    const s64 offset = tile.offsets[k];
    __m512i w[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_si512(weights + 64 * v);
    weights += 64 * kVectors;
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m) {
      const __m512i x = broadcast4(src[m] + offset);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) dot4(acc[m][v], x, w[v]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) finish<kVectors>(tile, m, c, acc[m]);
}

template <int kPixels>
void row(const ConvTile& tile) {
  s64 c = 0;
  for (; c + 48 < tile.channels; c += 64) block<kPixels, 4>(tile, c);
  const s64 left = tile.channels - c;
  if (left > 32) {
    block<kPixels, 3>(tile, c);
  } else if (left > 16) {
    block<kPixels, 2>(tile, c);
  } else if (left > 0) {
    block<kPixels, 1>(tile, c);
  }
}

}  // namespace

void conv_u8s8_6x64_vnni(const ConvTile& tile) {
  switch (tile.pixels) {
    case 1:
      return row<1>(tile);
    case 2:
      return row<2>(tile);
    case 3:
      return row<3>(tile);
    case 4:
      return row<4>(tile);
    case 5:
      return row<5>(tile);
    default:
      return row<6>(tile);
  }
}

}  // namespace octet
