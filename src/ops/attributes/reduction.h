// SPDX-License-Identifier: Apache-2.0
// Attributes of reductions.
#pragma once

#include <optional>
#include <vector>

#include "graph/attributes.h"

namespace octet {

// ReduceSum and its kind, whose axes are an input.
struct ReduceAttributes {
  bool keepdims = true;
  bool noop_with_empty_axes = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("keepdims", self.keepdims);
    field("noop_with_empty_axes", self.noop_with_empty_axes);
  }
};

// ArgMax, ArgMin.
struct ArgExtremeAttributes {
  s64 axis = 0;
  bool keepdims = true;
  bool select_last_index = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("axis", self.axis);
    field("keepdims", self.keepdims);
    field("select_last_index", self.select_last_index);
  }
};

// An operator on codes that goes through reals: the scales of its input and its output.
struct CodeScalesAttributes {
  std::vector<f32> scales;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("scales", self.scales);
  }
};

struct QReduceMeanAttributes : CodeScalesAttributes {
  std::optional<std::vector<s64>> axes;  // absent: all
  bool keepdims = true;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    CodeScalesAttributes::fields(self, field);
    field("axes", self.axes);
    field("keepdims", self.keepdims);
  }
};

// CumSum, CumProd.
struct CumulativeAttributes {
  bool exclusive = false;
  bool reverse = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("exclusive", self.exclusive);
    field("reverse", self.reverse);
  }
};

struct TopKAttributes {
  s64 axis = -1;
  bool largest = true;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("axis", self.axis);
    field("largest", self.largest);
  }
};

}  // namespace octet
