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

inline AttributeNames<AutoPad> attribute_names(AutoPad) {
  static constexpr std::array<std::pair<std::string_view, AutoPad>, 5> kNames{
      {{"NOTSET", AutoPad::notset},
       {"VALID", AutoPad::valid},
       {"SAME_UPPER", AutoPad::same_upper},
       {"SAME_LOWER", AutoPad::same_lower},
       {"", AutoPad::notset}}};
  return kNames;
}

// Absent lists: 1 for each axis, and no padding.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::notset;
  std::optional<std::vector<s64>> dilations;
  std::optional<std::vector<s64>> kernel_shape;  // of convolutions: the weights'
  std::optional<std::vector<s64>> pads;          // all begins, then all ends
  std::optional<std::vector<s64>> strides;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("auto_pad", self.auto_pad);
    field("dilations", self.dilations);
    field("kernel_shape", self.kernel_shape);
    field("pads", self.pads);
    field("strides", self.strides);
  }
};

// Conv, QConv, DeformConv.
struct ConvAttributes : WindowAttributes {
  s64 group = 1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    WindowAttributes::fields(self, field);
    field("group", self.group);
  }
};

struct ConvTransposeAttributes : ConvAttributes {
  std::optional<std::vector<s64>> output_padding;
  std::optional<std::vector<s64>> output_shape;  // the spatial sizes, or the whole shape

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    ConvAttributes::fields(self, field);
    field("output_padding", self.output_padding);
    field("output_shape", self.output_shape);
  }
};

// MaxPool, AveragePool, LpPool, QAveragePool.
struct PoolAttributes : WindowAttributes {
  bool ceil_mode = false;
  bool count_include_pad = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    WindowAttributes::fields(self, field);
    field("ceil_mode", self.ceil_mode);
    field("count_include_pad", self.count_include_pad);
  }
};

// Groups of a convolution; 1 of any other product.
inline s64 conv_groups(const Node& product) {
  return std::max<s64>(1, attribute_of<&ConvAttributes::group>(product));
}

}  // namespace octet
