// SPDX-License-Identifier: Apache-2.0
// The kernel of panel.h for one instruction set. The including file defines OCTET_ISA(name), includes its vec header, has panel_product(),
// panel_residual() and panel_give() of f32_panel.h, or its own, and panel_fours() of panel_singles.h, or its own.
#pragma once

#include "backends/cpu/kernels/float/panel.h"
#include "backends/cpu/kernels/float/sum_end_body.h"

namespace octet {
namespace {

// Pixels whose sums of a whole panel fill the registers: 28 of 32, or 12 of 16.
constexpr int kPanelPixels = kLanes == 16 ? 14 : 6;

// Where the values of a block's pixels lie: offsets that an address holds without a register for each pixel.
struct PanelPixels {
  const float* near;
  const float* far;  // seven pixels behind
  long step, step3, step5;

  __attribute__((always_inline)) const float* at(int i) const {
    const float* base = i < 7 ? near : far;
    switch (i % 7) {
      case 0:
        return base;
      case 1:
        return base + step;
      case 2:
        return base + 2 * step;
      case 3:
        return base + step3;
      case 4:
        return base + 4 * step;
      case 5:
        return base + step5;
      default:
        return base + 2 * step3;
    }
  }
};

// One value of each pixel, by a row of weights.
template <int kPixels, int kVectors>
__attribute__((always_inline)) inline void panel_step(const PanelPixels& pixels,
                                                      const float* weights,
                                                      V (&sums)[kPixels * kVectors]) {
  V w[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) w[v] = v_load(weights + v * kLanes);
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i) {
    const V x = v_set(*pixels.at(i));
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      sums[i * kVectors + v] = panel_product(x, w[v], sums[i * kVectors + v]);
  }
}

template <int kPixels, int kVectors>
__attribute__((always_inline)) inline void panel_products(const PanelArgs* args, const float* src,
                                                          V (&sums)[kPixels * kVectors]) {
  const long step = args->src_step, length = args->run_length;
  const float* weights = args->weights;
  for (long run = 0; run < args->run_count; ++run) {
    const float* first = src + args->runs[run];
    PanelPixels pixels{first, first + 7 * step, step, 3 * step, 5 * step};
    long k = panel_fours<kPixels, kVectors>(pixels, weights, length, sums);
    pixels.near += k;
    pixels.far += k;
    weights += k * kVectors * kLanes;
    for (; k < length; ++k, ++pixels.near, ++pixels.far, weights += kVectors * kLanes)
      panel_step<kPixels, kVectors>(pixels, weights, sums);
  }
}

// Pixels from `p` on.
template <int kPixels, int kVectors>
__attribute__((noinline)) void panel_block(const PanelArgs* args, const SumEnd& given, long p) {
  V sums[kPixels * kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const V bias = v_load(args->bias + v * kLanes);
#pragma GCC unroll 14
    for (int i = 0; i < kPixels; ++i) sums[i * kVectors + v] = bias;
  }
  panel_products<kPixels, kVectors>(args, args->src + p * args->src_step, sums);
  const SumEnd end = given;
  const int rest = static_cast<int>(args->channels) - (kVectors - 1) * kLanes;
  if (args->residual != nullptr) {
    long at = p * args->residual_step;
#pragma GCC unroll 14
    for (int i = 0; i < kPixels; ++i, at += args->residual_step) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        V& sum = sums[i * kVectors + v];
        sum = v_add(sum, panel_residual(args, at + v * kLanes, v + 1 < kVectors ? kLanes : rest));
      }
    }
  }
  panel_give<kPixels, kVectors>(args, end, p, sums);
}

template <int kPixels, int kVectors>
inline void panel_block_of(const PanelArgs* args, const SumEnd& end, long p, long pixels) {
  if (pixels == kPixels) return panel_block<kPixels, kVectors>(args, end, p);
  if constexpr (kPixels > 1) panel_block_of<kPixels - 1, kVectors>(args, end, p, pixels);
}

// In blocks of nearly as many pixels: small ones leave the multipliers waiting.
template <int kVectors>
inline void panel_blocks(const PanelArgs* args) {
  const SumEnd end(args->end);
  for (long p = 0; p < args->count;) {
    const long left = args->count - p, blocks = (left + kPanelPixels - 1) / kPanelPixels;
    const long pixels = (left + blocks - 1) / blocks;
    panel_block_of<kPanelPixels, kVectors>(args, end, p, pixels);
    p += pixels;
  }
}

}  // namespace

void OCTET_ISA(panel)(const PanelArgs* args) {
  args->channels > kLanes ? panel_blocks<2>(args) : panel_blocks<1>(args);
}

}  // namespace octet
