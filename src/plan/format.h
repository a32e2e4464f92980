// SPDX-License-Identifier: Apache-2.0
// Formats of values in memory: where each element lies, and how many bytes there are. The one place that knows both.
#pragma once

#include <string_view>

#include "plan/offer.h"

namespace octet {

// Channels of one block of nc32hw32, and what nhwc_c32 rounds its pixels up to.
inline constexpr s64 kBlockChannels = 32;

std::string_view layout_name(Layout layout);

// An image of one pixel lies the same way in linear and in nhwc.
inline bool has_one_pixel(const Shape& shape) {
  return shape.rank() == 4 && shape[2] == 1 && shape[3] == 1;
}

// Of a value that shares its memory with no other, with a border around each image; only strides of 0 for linear.
Placement dense_placement(const TensorType& type, Layout layout, s64 border);

// All bytes from the first of the border to the last, of as many images as the type has.
s64 format_bytes(const TensorType& type, const Placement& placement);
// From the first byte to the element (0, 0, 0, 0).
s64 origin_bytes(const TensorType& type, const Placement& placement);
// From one image to the next, or from one index of dimension 0 to the next.
s64 image_bytes(const TensorType& type, const Placement& placement);

}  // namespace octet
