// SPDX-License-Identifier: Apache-2.0
// One axis of Resize. Private to resize_geometry.cc and resize_axis.cc.
#pragma once

#include "ops/attributes/sampling.h"
#include "ops/shared/resize.h"

namespace octet {

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
