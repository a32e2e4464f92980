// SPDX-License-Identifier: Apache-2.0
// One axis of Resize. Private to resize_geometry.cc and resize_axis.cc.
#pragma once

#include "graph/graph.h"
#include "ops/shared/resize.h"

namespace octet {

enum class ResizeMode : u8 { nearest, linear, cubic };
enum class ResizeCoordinates : u8 {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};
// `simple` is what opset 10 left to implementations: down for enlarging, up for shrinking.
enum class ResizeNearest : u8 { round_prefer_floor, round_prefer_ceil, floor, ceil, simple };

struct ResizeAttributes {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeNearest nearest = ResizeNearest::round_prefer_floor;
  f32 cubic_a = -0.75f;
  f32 extrapolation_value = 0.0f;
  bool exclude_outside = false;
  bool antialias = false;
};

ResizeAttributes resize_attributes(const Node& node);

struct ResizeSpan {
  s64 in = 1;
  s64 out = 1;
  f32 length = 1.0f;     // out before it was rounded down: scale * in where the model states scales
  f32 scale = 1.0f;      // out / in, or as the model states it
  f32 roi_start = 0.0f;  // tf_crop_and_resize only
  f32 roi_end = 1.0f;
};

ResizeAxis resize_axis(const ResizeAttributes& attributes, const ResizeSpan& span);

}  // namespace octet
