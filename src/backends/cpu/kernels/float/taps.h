// SPDX-License-Identifier: Apache-2.0
// f32 depthwise convolution of channels-last pixels with any window: of each channel the products are added to the bias by fused
// multiply-adds in the order of the taps, which gives the same bits on every instruction set. Plain data only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/float/sum_end.h"

namespace octet {

// `count` output pixels in a row. Tap t of pixel p lies at taps[t] + p * step, its weights at weights[t].
struct TapsArgs {
  const void* const* taps;
  const float* const* weights;
  long tap_count;
  const float* bias;
  void* dst;
  long count;
  long step;
  long channels;  // also between pixels of dst
  SumEndArgs end;
  bool src_halves, dst_halves;  // are bf16, which depthwise_*_bf16 reads and writes; else f32
};

// 3x3 without strides or dilations: `count` output pixels of each of two rows, whose taps are all there. What is read is read once for all of them.
struct TapRowsArgs {
  const void* src;       // the first tap of the first pixel
  long src_row;          // between rows
  const float* weights;  // nine rows of `channels`
  const float* bias;
  void* dst;
  long dst_row;
  long count;
  long channels;  // also between pixels
  SumEndArgs end;
  bool src_halves, dst_halves;  // as above
};

OCTET_X86_64(void, depthwise_taps_avx2, const TapsArgs* args);
OCTET_X86_64(void, depthwise_taps_vnni, const TapsArgs* args);
OCTET_X86_64(void, depthwise_rows_avx2, const TapRowsArgs* args);
OCTET_X86_64(void, depthwise_rows_vnni, const TapRowsArgs* args);
OCTET_AARCH64(void, depthwise_taps_neon, const TapsArgs* args);
OCTET_AARCH64(void, depthwise_rows_neon, const TapRowsArgs* args);
// One of both at least is bf16.
OCTET_X86_64(void, depthwise_taps_bf16, const TapsArgs* args);
OCTET_X86_64(void, depthwise_rows_bf16, const TapRowsArgs* args);

}  // namespace octet
