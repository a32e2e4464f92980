// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution with sdot, 16 channels at a time. Four taps of a column are interleaved once and then serve every output pixel
// whose window covers the column. The instruction knows no u8 by s8: codes less 128 are what it multiplies (DepthwiseKernel::shift).
#include "backends/cpu/kernels/codes/depthwise/finish_neon.h"

namespace octet {
namespace {

constexpr s64 kTaps = 4;
constexpr s64 kBytes = kBlock * kTaps;  // of one interleaved column and of one weight step

inline uint8x16_t shifted(const u8* src, s64 channels) {
  return veorq_u8(load_bytes16(src, channels), vdupq_n_u8(0x80));
}

// [16 channels][4 taps]
inline void interleave(const uint8x16_t tap[4], s8* dst) {
  const uint16x8_t a = vreinterpretq_u16_u8(vzip1q_u8(tap[0], tap[1]));
  const uint16x8_t b = vreinterpretq_u16_u8(vzip2q_u8(tap[0], tap[1]));
  const uint16x8_t c = vreinterpretq_u16_u8(vzip1q_u8(tap[2], tap[3]));
  const uint16x8_t d = vreinterpretq_u16_u8(vzip2q_u8(tap[2], tap[3]));
  vst1q_s8(dst, vreinterpretq_s8_u16(vzip1q_u16(a, c)));
  vst1q_s8(dst + 16, vreinterpretq_s8_u16(vzip2q_u16(a, c)));
  vst1q_s8(dst + 32, vreinterpretq_s8_u16(vzip1q_u16(b, d)));
  vst1q_s8(dst + 48, vreinterpretq_s8_u16(vzip2q_u16(b, d)));
}

// One group's columns, of which the window has kRows rows. What taps that are not there have does not matter: their weights are zero.
template <int kRows>
inline void interleave_rows(const DepthwiseRow& row, const u8* src, s64 channels, s8* dst) {
  for (s64 column = 0; column < row.columns; ++column, src += row.column, dst += kBytes) {
    uint8x16_t tap[kTaps];
#pragma GCC unroll 4
    for (int i = 0; i < kTaps; ++i)
      tap[i] = i < kRows ? shifted(src + i * row.tap_y, channels) : vdupq_n_u8(0);
    interleave(tap, dst);
  }
}

void interleave_group(const DepthwiseRow& row, s64 rows, const u8* src, s64 channels, s8* dst) {
  if (rows >= 4) return interleave_rows<4>(row, src, channels, dst);
  if (rows == 3 && channels >= kBlock) return interleave_rows<3>(row, src, kBlock, dst);
  if (rows == 3) return interleave_rows<3>(row, src, channels, dst);
  rows == 2 ? interleave_rows<2>(row, src, channels, dst)
            : interleave_rows<1>(row, src, channels, dst);
}

// scratch: [tap groups][columns][kBytes]
void interleave_columns(const DepthwiseRow& row, s64 channel) {
  s8* dst = static_cast<s8*>(row.scratch);
  for (s64 y = 0; y < row.kernel_y; y += kTaps, dst += row.columns * kBytes)
    interleave_group(row, row.kernel_y - y, row.src + channel + y * row.tap_y,
                     row.channels - channel, dst);
}

// Adds one part of the weights, and moves them on to the next.
template <int kPixels>
[[gnu::always_inline]] inline void add_part(const DepthwiseRow& row, s64 first, const s8*& weights,
                                            int32x4_t acc[kPixels][4]) {
  const s64 step = row.stride_x * kBytes;
  const s8* group = static_cast<const s8*>(row.scratch) + first * step;
  for (s64 y = 0; y < row.kernel_y; y += kTaps, group += row.columns * kBytes) {
    const s8* src = group;
    for (s64 x = 0; x < row.kernel_x; ++x, src += row.dilation_x * kBytes, weights += kBytes) {
      int8x16_t w[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) w[j] = vld1q_s8(weights + 16 * j);
#pragma GCC unroll 4
      for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          acc[m][j] = vdotq_s32(acc[m][j], vld1q_s8(src + m * step + 16 * j), w[j]);
      }
    }
  }
}

template <int kPixels>
[[gnu::always_inline]] inline void pixels(const DepthwiseRow& row, const BlockEnd& end, s64 first,
                                          s64 channel, const s8* weights) {
  int32x4_t acc[kPixels][4];
#pragma GCC unroll 4
  for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc[m][j] = vld1q_s32(row.bias + channel + 4 * j);
  }
  for (s64 part = 0; part < row.parts; ++part) add_part<kPixels>(row, first, weights, acc);
  finish<kPixels>(row, end, first, channel, acc);
}

}  // namespace

// Weights: [channels / 16][parts][tap groups][kernel_x][kBytes].
void depthwise_u8s8_16_dotprod(const DepthwiseRow& row) {
  const s64 groups = (row.kernel_y + kTaps - 1) / kTaps;
  const s8* weights = static_cast<const s8*>(row.weights);
  const s64 block_bytes = row.parts * groups * row.kernel_x * kBytes;
  for (s64 c = 0; c < row.channels; c += kBlock, weights += block_bytes) {
    interleave_columns(row, c);
    const BlockEnd end(row, c);
    s64 m = 0;
    for (; m + 4 <= row.pixels; m += 4) pixels<4>(row, end, m, c, weights);
    switch (row.pixels - m) {
      case 3:
        pixels<3>(row, end, m, c, weights);
        break;
      case 2:
        pixels<2>(row, end, m, c, weights);
        break;
      case 1:
        pixels<1>(row, end, m, c, weights);
        break;
      default:
        break;
    }
  }
}

}  // namespace octet
