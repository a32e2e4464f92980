// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution with smlal: 16 channels of four pixels at a time, which share the loads of the weights.
#include "backends/cpu/kernels/codes/depthwise/finish_neon.h"

namespace octet {
namespace {

// Weights: [taps][16] s16.
template <bool kWhole, int kPixels>
[[gnu::always_inline]] inline void pixels(const DepthwiseRow& row, const BlockEnd& end, s64 first,
                                          s64 channel, const s16* weights) {
  // Of whole blocks a constant, with which loads are one instruction.
  const s64 channels = kWhole ? kBlock : row.channels - channel;
  const s64 step = row.stride_x * row.column;
  const u8* window = row.src + first * step + channel;
  int32x4_t acc[kPixels][4];
#pragma GCC unroll 4
  for (int m = 0; m < kPixels; ++m) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc[m][j] = vld1q_s32(row.bias + channel + 4 * j);
  }
  for (s64 y = 0; y < row.kernel_y; ++y, window += row.tap_y) {
    const u8* src = window;
    for (s64 x = 0; x < row.kernel_x; ++x, src += row.dilation_x * row.column, weights += kBlock) {
      const int16x8_t low = vld1q_s16(weights), high = vld1q_s16(weights + 8);
#pragma GCC unroll 4
      for (int m = 0; m < kPixels; ++m) {
        const uint8x16_t codes = load_bytes16(src + m * step, channels);
        const int16x8_t a = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(codes)));
        const int16x8_t b = vreinterpretq_s16_u16(vmovl_high_u8(codes));
        acc[m][0] = vmlal_s16(acc[m][0], vget_low_s16(a), vget_low_s16(low));
        acc[m][1] = vmlal_high_s16(acc[m][1], a, low);
        acc[m][2] = vmlal_s16(acc[m][2], vget_low_s16(b), vget_low_s16(high));
        acc[m][3] = vmlal_high_s16(acc[m][3], b, high);
      }
    }
  }
  finish<kPixels>(row, end, first, channel, acc);
}

}  // namespace

void depthwise_u8s8_16_neon(const DepthwiseRow& row) {
  const s64 taps = row.kernel_y * row.kernel_x;
  const s16* weights = static_cast<const s16*>(row.weights);
  for (s64 c = 0; c < row.channels; c += kBlock, weights += taps * kBlock) {
    const BlockEnd end(row, c);
    s64 m = 0;
    if (row.channels - c >= kBlock) {
      for (; m + 4 <= row.pixels; m += 4) pixels<true, 4>(row, end, m, c, weights);
      for (; m + 2 <= row.pixels; m += 2) pixels<true, 2>(row, end, m, c, weights);
      for (; m < row.pixels; ++m) pixels<true, 1>(row, end, m, c, weights);
    }
    for (; m < row.pixels; ++m) pixels<false, 1>(row, end, m, c, weights);
  }
}

}  // namespace octet
