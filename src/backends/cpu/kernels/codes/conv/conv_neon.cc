// SPDX-License-Identifier: Apache-2.0
// Convolution with smlal, for processors without dot products: 6 pixels x 16 channels, 24 accumulators. Activations are widened to
// words, weights are packed as such; the instruction multiplies four channels by one word of a lane.
#include "backends/cpu/kernels/codes/conv/conv_pixels.h"
#include "backends/cpu/kernels/codes/conv/finish_neon.h"

namespace octet {
namespace {

constexpr s64 kWords = kConvChunk * kConvMaxPixels;  // of a chunk of all pixels

// [chunks][6][4], of which pixels that the tile lacks are not read.
const s16* widen_rows(const ConvTile& tile) {
  const TileRows rows(tile);
  s16* const scratch = static_cast<s16*>(tile.scratch);
  s16* dst = scratch;
  for (s64 k = 0; k < tile.chunks; ++k) {
    const s64 offset = tile.offsets[k];
#pragma GCC unroll 3
    for (int m = 0; m < kConvMaxPixels; m += 2, dst += 2 * kConvChunk) {
      u32 bytes[2];
      memcpy(bytes, rows.src[m] + offset, sizeof(u32));
      memcpy(bytes + 1, rows.src[m + 1] + offset, sizeof(u32));
      const uint8x8_t both = vcreate_u8(bytes[0] | static_cast<u64>(bytes[1]) << 32);
      vst1q_s16(dst, vreinterpretq_s16_u16(vmovl_u8(both)));
    }
  }
  return scratch;
}

template <int kPixel, int kByte, int kPixels>
[[gnu::always_inline]] inline void add(int32x4_t acc[kPixels][4], int16x8_t low, int16x8_t high,
                                       const int16x8_t rows[3]) {
  if constexpr (kPixel < kPixels) {
    constexpr int kLane = kPixel % 2 * static_cast<int>(kConvChunk) + kByte;
    const int16x8_t x = rows[kPixel / 2];
    acc[kPixel][0] = vmlal_laneq_s16(acc[kPixel][0], vget_low_s16(low), x, kLane);
    acc[kPixel][1] = vmlal_high_laneq_s16(acc[kPixel][1], low, x, kLane);
    acc[kPixel][2] = vmlal_laneq_s16(acc[kPixel][2], vget_low_s16(high), x, kLane);
    acc[kPixel][3] = vmlal_high_laneq_s16(acc[kPixel][3], high, x, kLane);
  }
}

template <int kByte, int kPixels>
[[gnu::always_inline]] inline void add_byte(int32x4_t acc[kPixels][4], const s16* weights,
                                            const int16x8_t rows[3]) {
  const int16x8_t low = vld1q_s16(weights + kByte * kConvLanes);
  const int16x8_t high = vld1q_s16(weights + kByte * kConvLanes + 8);
  add<0, kByte, kPixels>(acc, low, high, rows);
  add<1, kByte, kPixels>(acc, low, high, rows);
  add<2, kByte, kPixels>(acc, low, high, rows);
  add<3, kByte, kPixels>(acc, low, high, rows);
  add<4, kByte, kPixels>(acc, low, high, rows);
  add<5, kByte, kPixels>(acc, low, high, rows);
}

// Weights: [channels/16][chunks * 4][16] s16
template <int kPixels>
[[gnu::always_inline]] inline void block(const ConvTile& tile, s64 c, const s16* x) {
  int32x4_t acc[kPixels][4];
  start_tile<kPixels>(tile, c, acc);
  const s16* weights = static_cast<const s16*>(tile.weights) + c * tile.chunks * kConvChunk;
  for (s64 k = 0; k < tile.chunks; ++k, weights += kConvChunk * kConvLanes, x += kWords) {
    int16x8_t rows[3];
#pragma GCC unroll 3
    for (int p = 0; p < 3; ++p) rows[p] = 2 * p < kPixels ? vld1q_s16(x + 8 * p) : vdupq_n_s16(0);
    add_byte<0, kPixels>(acc, weights, rows);
    add_byte<1, kPixels>(acc, weights, rows);
    add_byte<2, kPixels>(acc, weights, rows);
    add_byte<3, kPixels>(acc, weights, rows);
  }
  finish_tile<kPixels>(tile, c, acc);
}

template <int kPixels>
void row(const ConvTile& tile) {
  const s16* x = widen_rows(tile);
  for (s64 c = 0; c < tile.channels; c += kConvLanes) block<kPixels>(tile, c, x);
}

}  // namespace

void conv_u8s8_6x16_neon(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<decltype(n)::kPixels>(tile); });
}

}  // namespace octet
