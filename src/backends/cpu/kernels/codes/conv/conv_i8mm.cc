// SPDX-License-Identifier: Apache-2.0
// Convolution with usmmla: 6 pixels x 16 channels, 24 accumulators of two pixels by two channels each. The instruction multiplies
// eight bytes of two rows by eight of two columns, so the windows of two pixels are first written side by side, eight bytes of each
// in turn, and weights are packed by eight. Codes are its unsigned operand as they are.
#include "backends/cpu/kernels/codes/conv/conv_pixels.h"
#include "backends/cpu/kernels/codes/conv/finish_neon.h"

namespace octet {
namespace {

constexpr s64 kStep = 8;              // bytes of a row
constexpr s64 kPair = 2 * kStep;      // and of two
constexpr s64 kWeights = 16 * kStep;  // of 16 channels

inline s64 steps_of(const ConvTile& tile) { return (tile.chunks * kConvChunk + kStep - 1) / kStep; }

// [pairs][steps][2][8]
template <int kPairs>
const u8* interleave(const ConvTile& tile) {
  const TileRows rows(tile);
  u8* scratch = static_cast<u8*>(tile.scratch);
  const s64 pitch = steps_of(tile) * kPair;
  // Of the last step half may be missing; its weights are zero.
  if (tile.chunks % 2 != 0) {
    for (int p = 0; p < kPairs; ++p) vst1q_u8(scratch + p * pitch + pitch - kPair, vdupq_n_u8(0));
  }
  for (s64 k = 0; k < tile.chunks;) {
    const s64 offset = tile.offsets[k];
    const s64 at = k / 2 * kPair + k % 2 * kConvChunk;
    if (k % 2 == 0 && k + 4 <= tile.chunks && adjoining(tile.offsets + k)) {
#pragma GCC unroll 3
      for (int p = 0; p < kPairs; ++p) {
        const uint64x2x2_t x = {vreinterpretq_u64_u8(vld1q_u8(rows.src[2 * p] + offset)),
                                vreinterpretq_u64_u8(vld1q_u8(rows.src[2 * p + 1] + offset))};
        vst2q_u64(reinterpret_cast<u64*>(scratch + p * pitch + at), x);
      }
      k += 4;
      continue;
    }
    for (int m = 0; m < 2 * kPairs; ++m)
      memcpy(scratch + m / 2 * pitch + at + m % 2 * kStep, rows.src[m] + offset, kConvChunk);
    ++k;
  }
  return scratch;
}

template <int kPairs>
struct Sums {
  int32x4_t of[kPairs][8];  // of two pixels by two channels: [pixel][channel]
};

template <int kPairs>
[[gnu::always_inline]] inline void start(const ConvTile& tile, s64 c, Sums<kPairs>& acc) {
#pragma GCC unroll 3
  for (int p = 0; p < kPairs; ++p) {
    int32x4_t rows = vdupq_n_s32(0);
    if (tile.row_bias != nullptr) {
      const s64 last = tile.pixels - 1;
      const s32 first = tile.row_bias[2 * p];
      const s32 second = tile.row_bias[2 * p + 1 <= last ? 2 * p + 1 : last];
      rows = vcombine_s32(vdup_n_s32(first), vdup_n_s32(second));
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      const int32x2_t bias = vld1_s32(tile.bias + c + 2 * j);
      acc.of[p][j] = vaddq_s32(vcombine_s32(bias, bias), rows);
    }
  }
}

// The upper or the lower halves: one pixel's two channels and the next two.
inline int32x4_t pixel_part(int32x4_t a, int32x4_t b, bool second) {
  const int64x2_t x = vreinterpretq_s64_s32(a), y = vreinterpretq_s64_s32(b);
  return vreinterpretq_s32_s64(second ? vzip2q_s64(x, y) : vzip1q_s64(x, y));
}

// Weights: [channels/16][steps][16][8] s8
template <int kPixels>
[[gnu::always_inline]] inline void block(const ConvTile& tile, s64 c, const u8* x) {
  constexpr int kPairs = (kPixels + 1) / 2;
  Sums<kPairs> acc;
  start<kPairs>(tile, c, acc);
  const s64 steps = steps_of(tile);
  const s8* weights = static_cast<const s8*>(tile.weights) + c * steps * kStep;
#pragma GCC unroll 2
  for (s64 k = 0; k < steps; ++k, weights += kWeights, x += kPair) {
    uint8x16_t rows[kPairs];
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) rows[p] = vld1q_u8(x + p * steps * kPair);
#pragma GCC unroll 4
    for (int j = 0; j < 8; j += 2) {
      const int8x16_t w = vld1q_s8(weights + 16 * j), v = vld1q_s8(weights + 16 * j + 16);
#pragma GCC unroll 3
      for (int p = 0; p < kPairs; ++p) {
        acc.of[p][j] = vusmmlaq_s32(acc.of[p][j], rows[p], w);
        acc.of[p][j + 1] = vusmmlaq_s32(acc.of[p][j + 1], rows[p], v);
      }
    }
  }
  int32x4_t sums[kPixels][4];
#pragma GCC unroll 6
  for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      sums[m][v] = pixel_part(acc.of[m / 2][2 * v], acc.of[m / 2][2 * v + 1], m % 2 != 0);
  }
  finish_tile<kPixels>(tile, c, sums);
}

template <int kPixels>
void row(const ConvTile& tile) {
  const u8* x = interleave<(kPixels + 1) / 2>(tile);
  for (s64 c = 0; c < tile.channels; c += kConvLanes) block<kPixels>(tile, c, x);
}

}  // namespace

void conv_u8s8_6x16_i8mm(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<decltype(n)::kPixels>(tile); });
}

}  // namespace octet
