// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/window.h"

namespace octet::cuda {
namespace {

AxisWindow axis_window(const WindowAxis& axis) {
  return {.in = field_of(axis.in),
          .out = field_of(axis.out),
          .kernel = field_of(axis.kernel),
          .stride = field_of(axis.stride),
          .dilation = field_of(axis.dilation),
          .pad = field_of(axis.pad_begin)};
}

}  // namespace

SpatialWindow spatial_window(const Window& window, bool transposed) {
  return {.transposed = transposed,
          .d = axis_window(window.axes[0]),
          .h = axis_window(window.axes[1]),
          .w = axis_window(window.axes[2])};
}

PlaceStrides place_strides(const Shape& shape, const Placement& placement) {
  const std::vector<s64> strides = strides_of(shape, placement);
  // Those of the spatial axes, from the last one.
  const auto spatial = [&](size_t from_last) {
    return from_last + 2 < strides.size() ? strides[strides.size() - 1 - from_last] : 0;
  };
  return {.n = strides[0], .c = strides[1], .d = spatial(2), .h = spatial(1), .w = spatial(0)};
}

}  // namespace octet::cuda
