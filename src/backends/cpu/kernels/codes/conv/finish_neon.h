// SPDX-License-Identifier: Apache-2.0
// Accumulators of 16 channels -> codes or reals, with NEON: shared by the kernels of NEON, of internal linkage.
#pragma once

#include "backends/cpu/kernels/codes/conv/conv_args.h"
#include "backends/cpu/kernels/codes/simd_neon.h"

namespace octet {
namespace {

// The sums of one pixel: 16 channels.
struct PixelSums {
  int32x4_t part[4];
};

inline void store_real(const EpilogueArgs& e, const float32x4_t t[4], f32* dst, s64 channels) {
  f32 y[kConvLanes];
  f32* to = channels >= kConvLanes ? dst : y;
  for (int v = 0; v < 4; ++v) vst1q_f32(to + 4 * v, e.clip ? clip(e, t[v]) : t[v]);
  if (to == y) memcpy(dst, y, sizeof(f32) * static_cast<size_t>(channels));
}

// One pixel of any epilogue: channels [c, c + 16) of the tile.
inline void finish(const ConvTile& tile, s64 pixel, s64 c, const PixelSums& sums) {
  const EpilogueArgs& e = *tile.epilogue;
  const s64 channels = tile.channels - c;
  const s64 position = tile.first_channel + c;
  float32x4_t t[4];
  for (int v = 0; v < 4; ++v)
    t[v] = vmulq_f32(vcvtq_f32_s32(sums.part[v]), vld1q_f32(tile.multiplier + c + 4 * v));
  uint8x16_t residual = vdupq_n_u8(0);
  if (tile.residual != nullptr) residual = load_bytes16(tile.residual[pixel] + position, channels);
  if (tile.residual != nullptr && !e.sums) {
    int32x4_t r[4];
    widen(residual, r);
    for (int v = 0; v < 4; ++v) t[v] = add_residual(e, t[v], r[v]);
  }
  if (e.leaky) {
    for (int v = 0; v < 4; ++v) t[v] = leaky(t[v], e.alpha);
  }
  if (e.real) return store_real(e, t, reinterpret_cast<f32*>(tile.dst[pixel]) + position, channels);
  uint8x16_t codes = as_bytes(final_codes(e, t));
  if (e.sums) codes = sum_codes(e, codes, residual);
  store_bytes16(codes, tile.dst[pixel] + position, channels);
}

[[gnu::noinline]] void finish_pixels(const ConvTile& tile, s64 c, const PixelSums* sums) {
  for (s64 m = 0; m < tile.pixels; ++m) finish(tile, m, c, sums[m]);
}

// See ConvTile::plain. Read once: as far as the compiler knows the stores of codes might change what stands behind a pointer.
struct PlainEnd {
  float32x4_t multiplier[4];
  int16x8_t zero_point;
  uint8x16_t lo, hi;
  const EpilogueArgs& e;
  s64 position, channels;

  [[gnu::always_inline]] PlainEnd(const ConvTile& tile, s64 c)
      : zero_point(vdupq_n_s16(static_cast<s16>(tile.epilogue->zero_point))),
        lo(vdupq_n_u8(static_cast<u8>(tile.epilogue->lo))),
        hi(vdupq_n_u8(static_cast<u8>(tile.epilogue->hi))),
        e(*tile.epilogue),
        position(tile.first_channel + c),
        channels(tile.channels - c) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) multiplier[v] = vld1q_f32(tile.multiplier + c + 4 * v);
  }

  [[gnu::always_inline]] void round(const int32x4_t sums[4], int32x4_t n[4]) const {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      n[v] = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums[v]), multiplier[v]));
  }
  [[gnu::always_inline]] uint8x16_t codes(const int32x4_t sums[4]) const {
    int32x4_t n[4];
    round(sums, n);
    const int16x8_t a = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(n[0]), n[1]), zero_point);
    const int16x8_t b = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(n[2]), n[3]), zero_point);
    return vminq_u8(vmaxq_u8(vqmovun_high_s16(vqmovun_s16(a), b), lo), hi);
  }
  [[gnu::always_inline]] uint8x16_t codes_behind_table(const int32x4_t sums[4]) const {
    int32x4_t n[4];
    round(sums, n);
    return octet::codes_behind_table(e, n);
  }
  [[gnu::always_inline]] bool whole() const { return e.table == nullptr && channels >= kConvLanes; }
};

// All pixels of a register tile. What is not plain passes through memory, in code that is there once.
template <int kPixels>
[[gnu::always_inline]] inline void finish_tile(const ConvTile& tile, s64 c,
                                               const int32x4_t acc[kPixels][4]) {
  if (tile.plain) {
    const PlainEnd end(tile, c);
    if (end.whole()) {
#pragma GCC unroll 6
      for (int m = 0; m < kPixels; ++m) vst1q_u8(tile.dst[m] + end.position, end.codes(acc[m]));
      return;
    }
#pragma GCC unroll 6
    for (int m = 0; m < kPixels; ++m) {
      store_bytes16(end.codes_behind_table(acc[m]), tile.dst[m] + end.position, end.channels);
    }
    return;
  }
  PixelSums sums[kPixels];
#pragma GCC unroll 6
  for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[m].part[v] = acc[m][v];
  }
  finish_pixels(tile, c, sums);
}

// The bias of 16 channels, with that of the row, for each pixel.
template <int kPixels>
[[gnu::always_inline]] inline void start_tile(const ConvTile& tile, s64 c,
                                              int32x4_t acc[kPixels][4]) {
#pragma GCC unroll 6
  for (int m = 0; m < kPixels; ++m) {
    const int32x4_t row = vdupq_n_s32(tile.row_bias != nullptr ? tile.row_bias[m] : 0);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[m][v] = vaddq_s32(vld1q_s32(tile.bias + c + 4 * v), row);
  }
}

// Whether the four chunks from here lie one behind the other: 16 bytes, which one load reads.
inline bool adjoining(const s64* offsets) {
  return offsets[1] == offsets[0] + kConvChunk && offsets[2] == offsets[0] + 2 * kConvChunk &&
         offsets[3] == offsets[0] + 3 * kConvChunk;
}

// The pixels' windows, of which a tile of fewer than six repeats the last.
struct TileRows {
  const u8* src[kConvMaxPixels];

  [[gnu::always_inline]] explicit TileRows(const ConvTile& tile) {
#pragma GCC unroll 6
    for (s64 m = 0; m < kConvMaxPixels; ++m)
      src[m] = tile.src[m < tile.pixels ? m : tile.pixels - 1];
  }
};

}  // namespace
}  // namespace octet
