// SPDX-License-Identifier: Apache-2.0
// What panel_body.h asks of an instruction set whose values, residuals and results are f32. The including file includes its vec header before.
#pragma once

#include "backends/cpu/kernels/float/panel.h"
#include "backends/cpu/kernels/float/sum_end_body.h"

namespace octet {
namespace {

inline V panel_product(V x, V weights, V sum) { return v_fma(x, weights, sum); }

inline V panel_residual(const PanelArgs* args, long at, int n) {
  return v_load_n(static_cast<const float*>(args->residual) + at, n);
}

// The sums of the pixels from `p` on end.
template <int kPixels, int kVectors>
__attribute__((always_inline)) inline void panel_give(const PanelArgs* args, const SumEnd& end,
                                                      long p, V (&sums)[kPixels * kVectors]) {
  const int rest = static_cast<int>(args->channels) - (kVectors - 1) * kLanes;
  const long step = args->dst_step;
  float* dst = static_cast<float*>(args->dst) + p * step;
  end.finish(sums);
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i, dst += step) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      v_store_n(dst + v * kLanes, sums[i * kVectors + v], v + 1 < kVectors ? kLanes : rest);
  }
}

}  // namespace
}  // namespace octet
