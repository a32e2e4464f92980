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

  OCTET_ATTRIBUTES(keepdims, noop_with_empty_axes)
};

// ArgMax, ArgMin.
struct ArgExtremeAttributes {
  s64 axis = 0;
  bool keepdims = true;
  bool select_last_index = false;

  OCTET_ATTRIBUTES(axis, keepdims, select_last_index)
};

// An operator on codes that goes through reals: the scales of its input and its output.
struct CodeScalesAttributes {
  std::vector<f32> scales;

  OCTET_ATTRIBUTES(scales)
};

struct QReduceMeanAttributes : CodeScalesAttributes {
  std::optional<std::vector<s64>> axes;  // absent: all
  bool keepdims = true;

  OCTET_MORE_ATTRIBUTES(CodeScalesAttributes, axes, keepdims)
};

// CumSum, CumProd.
struct CumulativeAttributes {
  bool exclusive = false;
  bool reverse = false;

  OCTET_ATTRIBUTES(exclusive, reverse)
};

struct TopKAttributes {
  s64 axis = -1;
  bool largest = true;

  OCTET_ATTRIBUTES(axis, largest)
};

}  // namespace octet
