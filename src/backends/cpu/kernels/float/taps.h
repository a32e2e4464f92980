// SPDX-License-Identifier: Apache-2.0
// f32 depthwise convolution of channels-last pixels with any window: of each channel the products are added to the bias by fused
// multiply-adds in the order of the taps, which gives the same bits on every instruction set. Plain data only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

// What becomes of a sum.
struct TapsEndArgs {
  bool clamps;  // to [min, max]; else alpha is the slope below zero
  float min;
  float max;
  float alpha;
  int rounds;  // to 1: f16, 2: bf16; 0: not
};

// `count` output pixels in a row. Tap t of pixel p lies at taps[t] + p * step, its weights at weights[t].
struct TapsArgs {
  const float* const* taps;
  const float* const* weights;
  long tap_count;
  const float* bias;
  float* dst;
  long count;
  long step;
  long channels;  // also between pixels of dst
  TapsEndArgs end;
};

// 3x3 without strides or dilations: `count` output pixels of each of two rows, whose taps are all there. What is read is read once for all of them.
struct TapRowsArgs {
  const float* src;      // the first tap of the first pixel
  long src_row;          // between rows
  const float* weights;  // nine rows of `channels`
  const float* bias;
  float* dst;
  long dst_row;
  long count;
  long channels;  // also between pixels
  TapsEndArgs end;
};

OCTET_X86_64(void, depthwise_taps_avx2, const TapsArgs* args);
OCTET_X86_64(void, depthwise_taps_vnni, const TapsArgs* args);
OCTET_X86_64(void, depthwise_rows_avx2, const TapRowsArgs* args);
OCTET_X86_64(void, depthwise_rows_vnni, const TapRowsArgs* args);

}  // namespace octet
