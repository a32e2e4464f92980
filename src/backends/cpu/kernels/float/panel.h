// SPDX-License-Identifier: Apache-2.0
// f32 sums of products of channels-last pixels by a panel of weights, for convolutions and matrix products: each sum begins with the bias and takes
// its products by fused multiply-adds in the order of the weights, which gives the same bits on every instruction set. Plain data only, since
// instruction-set files include it.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/float/sum_end.h"

namespace octet {

// Vectors of output channels in a panel; a last one may have a vector only.
inline constexpr int kPanelVectors = 2;

// Values are f32, or pairs of bf16 where the processor multiplies those.
// `count` output pixels in a row, and `channels` of each, at most those of the panel's vectors.
struct PanelArgs {
  const float* src;  // the first value of the first pixel
  long src_step;     // between pixels
  const long*
      runs;  // where values lie one behind the other: the begin of each run, from a pixel's first value
  long run_count;
  long run_length;
  const float*
      weights;  // for each value of each run a row of the panel's vectors, zeros behind the last channel
  const float* bias;     // such a row
  const void* residual;  // added to the sums, as dst; null: none
  void* dst;
  long dst_step;       // between pixels
  long residual_step;  // between pixels
  long count;
  long channels;
  SumEndArgs end;
  bool residual_halves, dst_halves;  // are bf16, where values are pairs; else f32
};

OCTET_X86_64(void, panel_avx2, const PanelArgs* args);
OCTET_X86_64(void, panel_vnni, const PanelArgs* args);
OCTET_X86_64(void, panel_bf16, const PanelArgs* args);
OCTET_AARCH64(void, panel_neon, const PanelArgs* args);

}  // namespace octet
