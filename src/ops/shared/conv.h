// SPDX-License-Identifier: Apache-2.0
// Geometry of Conv, QConv and ConvTranspose: everything a kernel needs to know, resolved and checked once.
#pragma once

#include "graph/op_def.h"
#include "ops/shared/window.h"

namespace octet {

struct ConvGeometry {
  s64 batch = 1;
  s64 groups = 1;
  s64 in_channels = 1;
  s64 out_channels = 1;
  Window window;  // window.h().pad_begin is the top, window.w().pad_end the right padding

  s64 in_channels_per_group() const { return in_channels / groups; }
  s64 out_channels_per_group() const { return out_channels / groups; }
  bool depthwise() const { return groups == in_channels && groups == out_channels; }
  Shape output_shape() const { return window.output_shape(batch, out_channels); }
};

// Input [N, C, spatial...], weights [O, C / group, kernel...]. Throws Error naming the attribute or dimension.
ConvGeometry conv_geometry(const Node& node, const Shape& input, const Shape& weights);

// Of ConvTranspose: weights [C, O / group, kernel...]. An axis of the output has stride * (in - 1) + extent - pad_begin - pad_end
// elements, or more: those beyond the last tap hold the bias alone.
ConvGeometry conv_transpose_geometry(const Node& node, const Shape& x, const Shape& weights);

// A product of matrices, [rows, k] by [k, n], as a convolution of 1x1: the rows are the pixels of an image of one row.
ConvGeometry rows_as_pixels(s64 rows, s64 k, s64 n);

}  // namespace octet
