// SPDX-License-Identifier: Apache-2.0
// What one call of a depthwise kernel gets: neighbouring output pixels of one row, all channels. Included by
// instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

struct DepthwiseRow {
  const u8* src = nullptr;  // first tap of the first pixel, channel 0
  s64 tap_y;                // bytes from a tap to the one below
  s64 column;               // bytes between neighbouring input pixels of a row
  s64 columns =
      0;  // input pixels from the first tap of the first output to the last tap of the last
  s64 kernel_y, kernel_x;
  s64 stride_x, dilation_x;      // in input pixels
  u8* dst = nullptr;             // f32 when the epilogue is real
  s64 dst_stride;                // between output pixels, in bytes
  const u8* residual = nullptr;  // or null
  s64 residual_stride;
  s64 pixels = 0;  // <= kDepthwisePixels
  s64 channels;
  s64 parts = 1;        // of the weights of kernels for s8
  const void* weights;  // packed by the kernel's own function
  const s32* bias;      // likewise
  const f32* multiplier;
  void* scratch;
  const EpilogueArgs* epilogue;
};

inline constexpr s64 kDepthwisePixels = 16;

void depthwise_u8s8_plain(const DepthwiseRow& row);
OCTET_X86_64(void, depthwise_u8s8_16_avx2, const DepthwiseRow& row);
OCTET_X86_64(void, depthwise_u8s8_64_vnni, const DepthwiseRow& row);
OCTET_AARCH64(void, depthwise_u8s8_16_neon, const DepthwiseRow& row);
OCTET_AARCH64(void, depthwise_u8s8_16_dotprod, const DepthwiseRow& row);

}  // namespace octet
