// SPDX-License-Identifier: Apache-2.0
#include "plan/format.h"

#include "core/check.h"
#include "core/divide.h"

namespace octet {
namespace {

s64 element_bytes(const TensorType& type) { return static_cast<s64>(dtype_bytes(type.dtype)); }

}  // namespace

std::string_view layout_name(Layout layout) {
  constexpr std::string_view kNames[] = {"linear", "nhwc", "nhwc_c32", "nc32hw32"};
  return kNames[static_cast<size_t>(layout)];
}

Placement dense_placement(const TensorType& type, Layout layout, s64 border) {
  Placement placement{.layout = layout};
  if (layout == Layout::linear) return placement;
  OCTET_CHECK(type.shape.rank() == 4);
  const s64 channels = type.shape[1], blocks = ceil_div(channels, kBlockChannels);
  placement.border = border;
  placement.pixel_stride = layout == Layout::nhwc       ? channels
                           : layout == Layout::nhwc_c32 ? blocks * kBlockChannels
                                                        : kBlockChannels;
  placement.row_stride = (type.shape[3] + 2 * border) * placement.pixel_stride;
  placement.image_stride = (type.shape[2] + 2 * border) * placement.row_stride;
  if (layout != Layout::nc32hw32) return placement;
  placement.block_stride = placement.image_stride;
  placement.image_stride *= blocks;
  return placement;
}

s64 format_bytes(const TensorType& type, const Placement& placement) {
  if (placement.layout == Layout::linear) return type.bytes();
  return type.shape[0] * image_bytes(type, placement);
}

s64 origin_bytes(const TensorType& type, const Placement& placement) {
  return placement.border * (placement.row_stride + placement.pixel_stride) * element_bytes(type);
}

s64 image_bytes(const TensorType& type, const Placement& placement) {
  if (placement.layout != Layout::linear) return placement.image_stride * element_bytes(type);
  return type.shape[0] == 0 ? 0 : type.bytes() / type.shape[0];
}

}  // namespace octet
