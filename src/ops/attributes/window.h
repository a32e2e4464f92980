// SPDX-License-Identifier: Apache-2.0
// Attributes of sliding windows: convolutions and pools. What they mean for a size is ops/shared/window.h.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "graph/attributes.h"

namespace octet {

enum class AutoPad : u8 { notset, valid, same_upper, same_lower };

constexpr auto attribute_words(AutoPad) {
  return std::to_array<AttributeWord<AutoPad>>({{"NOTSET", AutoPad::notset},
                                                {"VALID", AutoPad::valid},
                                                {"SAME_UPPER", AutoPad::same_upper},
                                                {"SAME_LOWER", AutoPad::same_lower},
                                                {"", AutoPad::notset}});
}

// Absent lists: 1 for each axis, and no padding.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::notset;
  std::optional<std::vector<s64>> dilations;
  std::optional<std::vector<s64>> kernel_shape;  // of convolutions: the weights'
  std::optional<std::vector<s64>> pads;          // all begins, then all ends
  std::optional<std::vector<s64>> strides;

  OCTET_ATTRIBUTES(auto_pad, dilations, kernel_shape, pads, strides)
};

// Conv, QConv, DeformConv.
struct ConvAttributes : WindowAttributes {
  s64 group = 1;

  OCTET_MORE_ATTRIBUTES(WindowAttributes, group)
};

struct ConvTransposeAttributes : ConvAttributes {
  std::optional<std::vector<s64>> output_padding;
  std::optional<std::vector<s64>> output_shape;  // the spatial sizes, or the whole shape

  OCTET_MORE_ATTRIBUTES(ConvAttributes, output_padding, output_shape)
};

// MaxPool, AveragePool, LpPool, QAveragePool.
struct PoolAttributes : WindowAttributes {
  bool ceil_mode = false;
  bool count_include_pad = false;

  OCTET_MORE_ATTRIBUTES(WindowAttributes, ceil_mode, count_include_pad)
};

// Groups of a convolution; 1 of any other product.
inline s64 conv_groups(const Node& product) {
  return std::max<s64>(1, attribute_of<&ConvAttributes::group>(product));
}

}  // namespace octet
