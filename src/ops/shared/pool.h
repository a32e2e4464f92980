// SPDX-License-Identifier: Apache-2.0
// Geometry of MaxPool, AveragePool, LpPool and QAveragePool.
#pragma once

#include "graph/op_def.h"
#include "ops/shared/window.h"

namespace octet {

struct PoolGeometry {
  s64 batch = 1;
  s64 channels = 1;
  bool count_include_pad = false;
  Window window;

  Shape output_shape() const { return window.output_shape(batch, channels); }
  // Elements that the average at output (d, h, w) divides by: those inside the input, or with count_include_pad those
  // inside the padded input (a window that ceil_mode lets hang over its end does not count the overhang).
  s64 divisor(s64 d, s64 h, s64 w) const;
};

PoolGeometry pool_geometry(const Node& node, const Shape& input);
// Of pools of real numbers: one output, of the input's type.
void infer_real_pool(Inference& inference);

// One window: its place in the output and the taps inside the input.
struct PoolWindow {
  s64 plane = 0;   // image * channels + channel
  s64 output = 0;  // within the output's plane
  s64 divisor = 1;
  s64 start[3] = {};  // of tap 0; may lie outside
  TapRange taps[3];
};

template <class F>
void for_each_window(const PoolGeometry& geometry, const F& visit) {
  const auto& axes = geometry.window.axes;
  if (geometry.output_shape().elements() == 0) return;
  const s64 outputs = geometry.window.out_elements();
  for (s64 plane = 0; plane < geometry.batch * geometry.channels; ++plane) {
    for (s64 output = 0; output < outputs; ++output) {
      const s64 at[3] = {output / (axes[1].out * axes[2].out), output / axes[2].out % axes[1].out,
                         output % axes[2].out};
      PoolWindow window{.plane = plane,
                        .output = output,
                        .divisor = geometry.divisor(at[0], at[1], at[2]),
                        .start = {},
                        .taps = {}};
      for (size_t i = 0; i < 3; ++i) {
        window.start[i] = at[i] * axes[i].stride - axes[i].pad_begin;
        window.taps[i] = taps_inside(axes[i], at[i]);
      }
      visit(window);
    }
  }
}

// visit(d, h, w): the input position of each tap inside, in row-major order.
template <class F>
void for_each_tap(const Window& geometry, const PoolWindow& window, const F& visit) {
  const auto at = [&](size_t axis, s64 tap) {
    return window.start[axis] + tap * geometry.axes[axis].dilation;
  };
  for (s64 kd = window.taps[0].first; kd < window.taps[0].last; ++kd) {
    for (s64 kh = window.taps[1].first; kh < window.taps[1].last; ++kh) {
      for (s64 kw = window.taps[2].first; kw < window.taps[2].last; ++kw) {
        visit(at(0, kd), at(1, kh), at(2, kw));
      }
    }
  }
}

}  // namespace octet
