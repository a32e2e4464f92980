// SPDX-License-Identifier: Apache-2.0
// A convolution of few channels as one of cells: what QConv's (lower.cc) and that of 16-bit floats (real.cc) share.
#pragma once

#include <functional>
#include <string>

#include "backends/cuda/families/fold/spec.h"
#include "backends/cuda/lower/step.h"
#include "ops/shared/conv.h"

namespace octet::cuda {

struct Fold {
  s64 step = 1;                // of the window
  s64 taps_h = 1, taps_w = 1;  // cells of a window
  s64 height = 1, width = 1;   // cells of an image
  s64 cell =
      16;  // numbers of one: its bytes are what the tensor memory accelerator's strides are multiples of
  s64 number_bytes = 1;

  Fold(const ConvGeometry& geometry, Number number);

  s64 cells(s64 images) const { return images * height * width; }
  s64 bytes(s64 images) const { return cells(images) * cell * number_bytes; }
  // Of the cells, as an operand in nhwc.
  Placement placement() const {
    return {.layout = Layout::nhwc,
            .pixel_stride = cell,
            .row_stride = width * cell,
            .image_stride = height * width * cell};
  }
  // Cells are pixels whose channels are the cells of a row of the window, which overlap from pixel to pixel.
  ConvGeometry folded(ConvGeometry geometry) const;
  // Of the folded weights of a channel, tap by tap, the place of weight k of the convolution's.
  s64 place(const ConvGeometry& geometry, s64 k) const;
};

// Why a convolution is none of cells, or empty.
std::string reject_fold(const ConvGeometry& geometry, Number number);

// Of the step's first launch, without what depends on where x lies.
fold::Spec fold_spec(const ConvGeometry& geometry, const Fold& fold);

// The step that folds its input `input` by such a kernel, and then does what `inner` does with the cells.
struct FoldedInput {
  size_t input = 0;
  Fold fold;
  s64 images = 1;
  std::function<fold::Spec(const BindArgs&)> spec;
};
Candidate behind_fold(const LowerRequest& request, const FoldedInput& folded, Candidate inner);

}  // namespace octet::cuda
