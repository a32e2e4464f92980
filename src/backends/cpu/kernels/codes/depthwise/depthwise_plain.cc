// SPDX-License-Identifier: Apache-2.0
// The portable depthwise kernel.
#include "backends/cpu/kernels/codes/depthwise/depthwise_args.h"
#include "backends/cpu/kernels/codes/scalar_epilogue.h"

namespace octet {
namespace {

constexpr s64 kBlock = 4;

// Weights: [channels / 4][taps][4] s16.
s32 sum_of_taps(const DepthwiseRow& row, const u8* src, const s16* weights) {
  u32 sum = 0;
  for (s64 y = 0; y < row.kernel_y; ++y) {
    for (s64 x = 0; x < row.kernel_x; ++x, weights += kBlock) {
      const s32 product = src[y * row.tap_y + x * row.dilation_x * row.column] * *weights;
      sum += static_cast<u32>(product);
    }
  }
  return static_cast<s32>(sum);
}

}  // namespace

void depthwise_u8s8_plain(const DepthwiseRow& row) {
  const s16* weights = static_cast<const s16*>(row.weights);
  const s64 taps = row.kernel_y * row.kernel_x;
  for (s64 m = 0; m < row.pixels; ++m) {
    const u8* src = row.src + m * row.stride_x * row.column;
    const u8* residual = row.residual != nullptr ? row.residual + m * row.residual_stride : nullptr;
    for (s64 c = 0; c < row.channels; ++c) {
      const s16* w = weights + c / kBlock * kBlock * taps + c % kBlock;
      const u32 acc =
          static_cast<u32>(row.bias[c]) + static_cast<u32>(sum_of_taps(row, src + c, w));
      const f32 t = static_cast<f32>(static_cast<s32>(acc)) * row.multiplier[c];
      store_scalar(*row.epilogue, t, residual, row.dst + m * row.dst_stride, c);
    }
  }
}

}  // namespace octet
