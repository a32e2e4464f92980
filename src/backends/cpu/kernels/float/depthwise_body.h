// SPDX-License-Identifier: Apache-2.0
// The kernel of depthwise.h for one instruction set. The including file defines OCTET_ISA(name) and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/depthwise.h"

namespace octet {
namespace {

// Lane i mod 16 gets product i and lanes are added pairwise: what remains of that with nine products. The lanes' start at 0 would only
// turn a sum of -0 into 0, and the bias does that.
inline V nine_products(const V (&w)[9], const float* const (&x)[9], int n) {
  V t[9];
  for (int i = 0; i < 9; ++i) t[i] = v_mul(v_load_n(x[i], n), w[i]);
  const V even = v_add(v_add(v_add(t[0], t[8]), t[4]), v_add(t[2], t[6]));
  const V odd = v_add(v_add(t[1], t[5]), v_add(t[3], t[7]));
  return v_add(even, odd);
}

inline void depthwise(const DepthwiseF32Args* args) {
  const V low = v_set(args->min), high = v_set(args->max), alpha = v_set(args->alpha);
  for (long c = 0; c < args->channels; c += kLanes) {
    const int n = args->channels - c < kLanes ? static_cast<int>(args->channels - c) : kLanes;
    V w[9];
    const float* x[9];
    for (int i = 0; i < 9; ++i) {
      w[i] = v_load_n(args->weights + i * args->channels + c, n);
      x[i] = args->taps[i] + c;
    }
    const V bias = v_load_n(args->bias + c, n);
    float* dst = args->dst + c;
    for (long p = 0; p < args->count; ++p, dst += args->channels) {
      const V y = v_add(nine_products(w, x, n), bias);
      const V clamped = v_bounded(y, low, high);
      const V sloped = v_select(v_lt(y, v_set(0.0f)), v_mul(y, alpha), y);
      v_store_n(dst, args->clamps ? clamped : sloped, n);
      for (int i = 0; i < 9; ++i) x[i] += args->steps[i];
    }
  }
}

}  // namespace

void OCTET_ISA(depthwise_f32)(const DepthwiseF32Args* args) { depthwise(args); }

}  // namespace octet
