// SPDX-License-Identifier: Apache-2.0
// What the tensor memory accelerator of a device is told of a tensor of codes: sizes, strides in bytes (multiples of 16), the box of one
// load.
#pragma once

#include <array>

#include "backends/cuda/device.h"
#include "backends/cuda/device/tensor_map.h"
#include "backends/cuda/kernel.h"

namespace octet::cuda {

// Rows of bytes: box of `box_bytes` by `box_rows`, swizzled within box_bytes (32, 64 or 128); what lies outside reads as 0.
struct RowsMap {
  s64 row_bytes = 0, rows = 0, stride = 0;
  s64 box_bytes = 0, box_rows = 0;
};
TensorMap rows_map(const CudaDevice& device, const RowsMap& map, const void* data);

// Images in nhwc.
struct ImageMap {
  std::array<s64, 4> sizes;    // channels, width, height, images
  std::array<s64, 3> strides;  // of a pixel, a row, an image
  s64 box_bytes = 0;           // of channels
};
// A box of so many pixels and rows.
TensorMap tile_map(const CudaDevice& device, const ImageMap& map, s64 box_width, s64 box_height,
                   const void* data);

// Windows: `pixels` of them at a time, from one corner of the image to the other.
struct Windows {
  std::array<s64, 2> lower,
      upper;  // of width and height: where the first tap may lie beyond the image
  std::array<s64, 2> stride;
  s64 pixels = 0;
};
TensorMap im2col_map(const CudaDevice& device, const ImageMap& map, const Windows& windows,
                     const void* data);

}  // namespace octet::cuda
