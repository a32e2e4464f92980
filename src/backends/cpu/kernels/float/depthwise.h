// SPDX-License-Identifier: Apache-2.0
// f32 depthwise 3x3 convolution of channels-last pixels: the nine products of each channel are added in the order of the scalar
// reference (ops/shared/dot.h), so the result is exact on every instruction set. Plain data only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

// `count` output pixels in a row. Tap i of pixel p lies at taps[i] + p * steps[i].
struct DepthwiseF32Args {
  const float* taps[9];
  long steps[9];
  const float* weights;  // nine rows of `channels`
  const float* bias;     // `channels`
  float* dst;
  long count;
  long channels;  // also between pixels of dst
  bool clamps;    // to [min, max]; else alpha is the slope below zero
  float min;
  float max;
  float alpha;
};

OCTET_X86_64(void, depthwise_f32_avx2, const DepthwiseF32Args* args);
OCTET_X86_64(void, depthwise_f32_vnni, const DepthwiseF32Args* args);
OCTET_AARCH64(void, depthwise_f32_neon, const DepthwiseF32Args* args);

}  // namespace octet
