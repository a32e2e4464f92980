// SPDX-License-Identifier: Apache-2.0
// What panels (f_panels.h) are multiplied by and read: weights packed once, and copies of rows with zeros around them, f32 or pairs of bf16.
#pragma once

#include "backends/cpu/kernels/float/panel.h"
#include "core/divide.h"
#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

constexpr s64 rounded_up(s64 count, s64 to) { return ceil_div(count, to) * to; }

// Constant weights as the graph has them: where output `o` of a group has its weight of a tap's channel.
struct PanelWeights {
  s64 groups, outs, taps, channels;  // outs and channels of a group
  s64 out_stride, tap_stride, channel_stride;
};

// A kernel's vector, and its function; no function where there are no vectors.
struct PanelKernel {
  s64 lanes;
  void (*function)(const PanelArgs*);
  bool pairs = false;  // multiplies pairs of bf16

  // Of what it reads at once, f32 or pairs of bf16, those that hold so many channels.
  s64 cells(s64 channels) const { return pairs ? (channels + 1) / 2 : channels; }
};

// [groups][panel][tap][channel][lanes of the panel], outs rounded up to whole vectors; of bf16, pairs of channels.
struct PackedPanels {
  Tensor weights;  // of bf16, the bits of two are those of an f32
  Tensor bias;     // [groups][outs]

  // `bias` may be none.
  PackedPanels(const Tensor& given, const Tensor& bias, const PanelWeights& from,
               const PanelKernel& kernel);
};

// How pixels lie, in elements.
struct PixelStrides {
  s64 pixel = 0, row = 0, image = 0;
};

// Rows of an image, with zeros around it.
struct RowCopy {
  PixelStrides from, to;
  s64 rows, columns;  // of the image
  s64 pixels;         // of the image; the last row may have fewer than the others
  s64 channels;
  s64 left, width;      // columns of zeros before the image's, and all of the copy
  bool pairs = false;   // of bf16 are what the copy has
  bool halves = false;  // are what the image has; else f32

  // `count` rows from `first` on, which may lie outside of the image. `to` counts what kernels read at once.
  void operator()(const std::byte* image, s64 first, s64 count, f32* dst) const noexcept;
};

}  // namespace octet
