// SPDX-License-Identifier: Apache-2.0
// GridSample for one instruction set. The including file defines OCTET_ISA(name) and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/grid_sample.h"

namespace octet {
namespace {

// The sum over all taps: weight(row of weights) and element(row of indices).
template <class Weight, class Element>
[[gnu::always_inline]] inline V sum_taps(const GridSampleArgs* args, const Weight& weight,
                                         const Element& element) {
  const long* taps = args->taps;
  V all = v_set(0.0f);
  for (long d = 0, row = 0; d < taps[0]; ++d) {
    V plane = v_set(0.0f);
    for (long h = 0; h < taps[1]; ++h) {
      V line = v_set(0.0f);
      for (long w = 0; w < taps[2]; ++w, ++row)
        line = v_add(line, v_mul(weight(taps[0] + taps[1] + w), element(row)));
      plane = v_add(plane, v_mul(weight(taps[0] + h), line));
    }
    all = v_add(all, v_mul(weight(d), plane));
  }
  return all;
}

}  // namespace

void OCTET_ISA(grid_sample_planes)(const GridSampleArgs* args) {
  for (long c = 0; c < args->channels; ++c) {
    const float* x = args->x + c * args->pixels;
    float* y = args->y + c * args->points;
    for (long i = 0; i < args->count; i += kLanes) {
      const V sum = sum_taps(
          args, [&](long row) { return v_load(args->weights + row * kGridBlock + i); },
          [&](long row) { return v_gather_inside(x, args->index + row * kGridBlock + i); });
      const long left = args->count - i;
      v_store_n(y + i, sum, left < kLanes ? static_cast<int>(left) : kLanes);
    }
  }
}

void OCTET_ISA(grid_sample_pixels)(const GridSampleArgs* args) {
  for (long i = 0; i < args->count; ++i) {
    for (long c = 0; c < args->channels; c += kLanes) {
      const long left = args->channels - c;
      const int n = left < kLanes ? static_cast<int>(left) : kLanes;
      const V sum = sum_taps(
          args, [&](long row) { return v_set(args->weights[row * kGridBlock + i]); },
          [&](long row) {
            const long pixel = args->index[row * kGridBlock + i];
            return pixel < 0 ? v_set(0.0f) : v_load_n(args->x + pixel * args->channels + c, n);
          });
      v_store_n(args->y + i * args->channels + c, sum, n);
    }
  }
}

}  // namespace octet
