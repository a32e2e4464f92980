// SPDX-License-Identifier: Apache-2.0
// Sliding windows of convolutions and pools: attributes resolved against a concrete input shape, and checked.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "octet/tensor.h"

namespace octet {

// One spatial axis. Output o reads input o * stride - pad_begin + k * dilation for k in [0, kernel).
struct WindowAxis {
  s64 in = 1;
  s64 out = 1;
  s64 kernel = 1;
  s64 stride = 1;
  s64 dilation = 1;
  s64 pad_begin = 0;
  s64 pad_end = 0;

  // Input elements from the first tap to the last.
  s64 extent() const { return dilation * (kernel - 1) + 1; }
};

// Always three axes, right-aligned (depth, height, width): an absent one has size 1 and no padding, so 1-D and 2-D
// windows are 3-D windows.
struct Window {
  int rank = 2;  // spatial axes of the tensor: 1, 2 or 3
  std::array<WindowAxis, 3> axes;

  const WindowAxis& d() const { return axes[0]; }
  const WindowAxis& h() const { return axes[1]; }
  const WindowAxis& w() const { return axes[2]; }

  s64 in_elements() const { return volume(axes[0].in, axes[1].in, axes[2].in); }
  s64 out_elements() const { return volume(axes[0].out, axes[1].out, axes[2].out); }
  s64 kernel_elements() const { return volume(axes[0].kernel, axes[1].kernel, axes[2].kernel); }
  // {batch, channels, spatial sizes of the output...}
  Shape output_shape(s64 batch, s64 channels) const;

 private:
  // Wraps where another dimension of 0 made a tensor's size legal; nothing is then read.
  static s64 volume(s64 d, s64 h, s64 w) {
    return static_cast<s64>(static_cast<u64>(d) * static_cast<u64>(h) * static_cast<u64>(w));
  }
};

struct WindowAttributes;  // ops/attributes/window.h

// The window over an input [N, C, spatial...]; `ceil_mode` is a pool's. Throws Error(invalid_model) naming the attribute and its value.
Window window_of(const WindowAttributes& attributes, const Shape& input,
                 std::span<const s64> kernel, bool ceil_mode = false);

// What a list of an attribute may hold: exactly `count` values from `min` to 2^31; absent, all are `otherwise`.
struct WindowList {
  size_t count = 0;
  s64 min = 0;
  s64 otherwise = 0;
};
std::vector<s64> window_values(std::string_view name, const std::optional<std::vector<s64>>& given,
                               const WindowList& list);

// Taps k in [first, last) of one axis that read inside the input for output position `o`.
struct TapRange {
  s64 first = 0;
  s64 last = 0;
};
TapRange taps_inside(const WindowAxis& axis, s64 o);

}  // namespace octet
