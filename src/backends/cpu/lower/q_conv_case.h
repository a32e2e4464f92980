// SPDX-License-Identifier: Apache-2.0
// Convolutions for the tests of QConv's kernels.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/lower/q_probe.h"
#include "ops/shared/conv.h"

namespace octet {

struct ConvCase {
  s64 batch = 1, channels = 16, height = 5, width = 7, outputs = 16;
  s64 kernel_h = 3, kernel_w = 3, stride = 1, dilation = 1, groups = 1;
  std::vector<s64> pads = {1, 1, 1, 1};
  s64 zero_point = 128;
  Codes codes = Codes::any;
  bool extreme_weights = false;
  f32 multiplier = 0.0f;  // 0: chosen for the depth of the sum
};

inline Probe probe_of(const ConvCase& c) {
  const s64 depth = c.channels / c.groups * c.kernel_h * c.kernel_w;
  const f32 size =
      c.multiplier != 0.0f ? c.multiplier : 1.0f / (60.0f * std::sqrt(static_cast<f32>(depth)));
  Probe probe{.op = "QConv"};
  probe.inputs = {
      activation(random_u8({c.batch, c.channels, c.height, c.width}, 1, c.codes), Layout::nhwc),
      constant(random_s8({c.outputs, c.channels / c.groups, c.kernel_h, c.kernel_w}, 2,
                         c.extreme_weights)),
      constant(random_s32({c.outputs}, 3, 5000)),
      constant(random_multipliers(c.outputs, 4, size)),
  };
  Attrs& attrs = probe.attrs;
  attrs.set("pads", c.pads);
  attrs.set("strides", std::vector<s64>{c.stride, c.stride});
  attrs.set("dilations", std::vector<s64>{c.dilation, c.dilation});
  attrs.set("group", c.groups);
  attrs.set("input_zero_points", std::vector<s64>{c.zero_point, 0, 0, 0});
  attrs.set("output_dtype", std::string("u8"));
  attrs.set("output_zero_point", s64{100});
  attrs.set("lo", s64{3});
  attrs.set("hi", s64{250});
  return probe;
}

inline std::string text(const ConvCase& c) {
  return fmt::format(
      "{}x{}x{}x{} -> {}, kernel {}x{}, stride {}, dilation {}, groups {}, zero point {}", c.batch,
      c.channels, c.height, c.width, c.outputs, c.kernel_h, c.kernel_w, c.stride, c.dilation,
      c.groups, c.zero_point);
}

inline ConvGeometry conv_geometry(const ConvCase& c) {
  const auto axis = [&](s64 in, s64 kernel, s64 begin, s64 end) {
    const s64 out = (in + begin + end - c.dilation * (kernel - 1) - 1) / c.stride + 1;
    return WindowAxis{in, out, kernel, c.stride, c.dilation, begin, end};
  };
  ConvGeometry g{c.batch, c.groups, c.channels, c.outputs, {}};
  g.window.axes[1] = axis(c.height, c.kernel_h, c.pads[0], c.pads[2]);
  g.window.axes[2] = axis(c.width, c.kernel_w, c.pads[1], c.pads[3]);
  return g;
}

inline Shape output_shape(const Probe& probe) { return probe.reference()[0].shape(); }

inline void add_residual(Probe& probe, s64 zero_point) {
  const Shape shape = output_shape(probe);
  probe.inputs.push_back(activation(random_u8(shape, 9), Layout::nhwc));
  probe.attrs.set("input_zero_points", std::vector<s64>{128, 0, 0, 0, zero_point});
  probe.attrs.set("residual_multiplier", 0.37f);
}

}  // namespace octet
