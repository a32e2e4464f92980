// SPDX-License-Identifier: Apache-2.0
// Convolution with vpdpbusd: 6 pixels x 64 channels, 24 accumulators, one broadcast of 4 activation bytes for each pixel
// and one load of 4 weight registers for each chunk. Activations are the u8 operand of vpdpbusd, which cannot be a memory
// broadcast, hence 6 pixels and not 7.
#include "backends/cpu/kernels/codes/conv/conv_pixels.h"
#include "backends/cpu/kernels/codes/conv/finish_vnni.h"

namespace octet {
namespace {

inline __m512i broadcast4(const u8* src) {
  s32 bytes;
  memcpy(&bytes, src, sizeof(bytes));
  return _mm512_set1_epi32(bytes);
}

// Codes of several pixels, 16 or 32 bytes of each.
template <int kVectors>
[[gnu::always_inline]] inline void store_parts(__m512i codes, u8* const* dst, s64 position,
                                               __mmask64 mask, int pixels) {
  if constexpr (kVectors == 2) {
    const auto lanes = static_cast<__mmask32>(mask);
    _mm256_mask_storeu_epi8(dst[0] + position, lanes, _mm512_castsi512_si256(codes));
    if (pixels > 1)
      _mm256_mask_storeu_epi8(dst[1] + position, lanes, _mm512_extracti64x4_epi64(codes, 1));
  } else {
    const auto lanes = static_cast<__mmask16>(mask);
    _mm_mask_storeu_epi8(dst[0] + position, lanes, _mm512_castsi512_si128(codes));
    if (pixels > 1)
      _mm_mask_storeu_epi8(dst[1] + position, lanes, _mm512_extracti32x4_epi32(codes, 1));
    if (pixels > 2)
      _mm_mask_storeu_epi8(dst[2] + position, lanes, _mm512_extracti32x4_epi32(codes, 2));
    if (pixels > 3)
      _mm_mask_storeu_epi8(dst[3] + position, lanes, _mm512_extracti32x4_epi32(codes, 3));
  }
}

// See ConvTile::plain. Four registers fill one of codes: those of one pixel, or of two or four with few channels.
template <int kPixels, int kVectors>
[[gnu::always_inline]] inline void finish_plain(const ConvTile& tile, s64 c,
                                                const __m512i acc[kPixels][kVectors]) {
  constexpr int kTogether = 4 / kVectors;
  const CodeLimits limits = code_limits(*tile.epilogue);
  const u8* table = tile.epilogue->table;
  const s64 position = tile.first_channel + c;
  const __mmask64 mask = first_lanes64(tile.channels - c);
  __m512 multiplier[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) multiplier[v] = _mm512_loadu_ps(tile.multiplier + c + 16 * v);
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; m += kTogether) {
    __m512i n[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int pixel = m + i / kVectors, v = i % kVectors;
      n[i] =
          i < kTogether * kVectors && pixel < kPixels
              ? _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(acc[pixel][v]), multiplier[v]))
              : _mm512_setzero_si512();
    }
    __m512i codes = in_register_order(pack_codes(n, limits));
    if (table != nullptr) codes = look_up(codes, table);
    if constexpr (kTogether == 1) {
      _mm512_mask_storeu_epi8(tile.dst[m] + position, mask, codes);
    } else {
      store_parts<kVectors>(codes, tile.dst + m, position, mask,
                            m + kTogether < kPixels ? kTogether : kPixels - m);
    }
  }
}

// The same with a table of lines, and out of line as finish_direct.
template <int kVectors>
[[gnu::noinline]] void finish_fine(const ConvTile& tile, s64 c, const __m512i* acc) {
  constexpr int kTogether = 4 / kVectors;
  const CodeLimits limits = code_limits(*tile.epilogue);
  const u8* table = tile.epilogue->table;
  const s64 position = tile.first_channel + c, pixels = tile.pixels;
  const __mmask64 mask = first_lanes64(tile.channels - c);
  __m512 multiplier[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) multiplier[v] = _mm512_loadu_ps(tile.multiplier + c + 16 * v);
  for (s64 m = 0; m < pixels; m += kTogether, acc += kTogether * kVectors) {
    const s64 some = m + kTogether < pixels ? kTogether : pixels - m;
    __m512i n[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int v = i % kVectors;
      n[i] = i < kTogether * kVectors && i / kVectors < some
                 ? _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(acc[i]), multiplier[v]))
                 : _mm512_setzero_si512();
    }
    const __m512i codes = in_register_order(fine_codes(n, limits, table));
    if constexpr (kTogether == 1) {
      _mm512_mask_storeu_epi8(tile.dst[m] + position, mask, codes);
    } else {
      store_parts<kVectors>(codes, tile.dst + m, position, mask, static_cast<int>(some));
    }
  }
}

constexpr s64 kAhead = 4096;  // bytes of weights: those of large layers come from beyond L2

template <bool kDirect, int kPixels, int kVectors>
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
    for (int v = 0; v < kVectors; ++v) {
      w[v] = _mm512_loadu_si512(weights + 64 * v);
      _mm_prefetch(reinterpret_cast<const char*>(weights + 64 * v + kAhead), _MM_HINT_T0);
    }
    weights += 64 * kVectors;
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m) {
      const __m512i x = broadcast4(src[m] + offset);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) dot4(acc[m][v], x, w[v]);
    }
  }
  if constexpr (kDirect) {
    __m512i copy[kPixels][kVectors];  // for the address
    memcpy(copy, acc, sizeof(copy));
    return finish_direct<kVectors>(tile, c, copy[0]);
  }
  if (tile.plain && tile.epilogue->fine) {
    __m512i copy[kPixels][kVectors];  // for the address
    memcpy(copy, acc, sizeof(copy));
    return finish_fine<kVectors>(tile, c, copy[0]);
  }
  if (tile.plain) return finish_plain<kPixels, kVectors>(tile, c, acc);
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) finish<kVectors>(tile, m, c, acc[m]);
}

template <bool kDirect, int kPixels>
void row(const ConvTile& tile) {
  s64 c = 0;
  for (; c + 48 < tile.channels; c += 64) block<kDirect, kPixels, 4>(tile, c);
  const s64 left = tile.channels - c;
  if (left > 32) {
    block<kDirect, kPixels, 3>(tile, c);
  } else if (left > 16) {
    block<kDirect, kPixels, 2>(tile, c);
  } else if (left > 0) {
    block<kDirect, kPixels, 1>(tile, c);
  }
}

template <bool kDirect>
void rows(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<kDirect, decltype(n)::kPixels>(tile); });
}

}  // namespace

void conv_u8s8_6x64_vnni(const ConvTile& tile) {
  const EpilogueArgs& e = *tile.epilogue;
  e.sums&& e.sum.direct ? rows<true>(tile) : rows<false>(tile);
}

}  // namespace octet
