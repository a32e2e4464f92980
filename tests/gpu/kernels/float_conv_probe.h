// SPDX-License-Identifier: Apache-2.0
// Convolutions of reals as probes.
#pragma once

#include <string_view>
#include <vector>

#include "gpu_probe.h"

namespace octet {

using Ints = std::vector<s64>;

struct Window {
  Ints kernel, strides, pads, dilations;
};
inline const Window kImages[] = {{{1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                                 {{3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
                                 {{3, 5}, {2, 3}, {0, 2, 1, 4}, {2, 1}}};

inline Probe conv_probe(const char* op, const Shape& x, s64 outputs, s64 groups,
                        const Window& window) {
  const bool transposed = std::string_view(op) == "ConvTranspose";
  Shape weights = transposed ? Shape{x[1], outputs / groups} : Shape{outputs, x[1] / groups};
  for (s64 size : window.kernel) weights.push_back(size);
  Probe probe{.op = op, .inputs = {activation(random_f32(x, 1), Layout::nhwc)}};
  probe.inputs.push_back(constant(random_f32(weights, 2)));
  probe.inputs.push_back(constant(random_f32({outputs}, 3)));
  if (x.rank() != 4) probe.inputs[0].layout = Layout::linear;
  probe.attrs.set("strides", window.strides);
  probe.attrs.set("pads", window.pads);
  probe.attrs.set("dilations", window.dilations);
  probe.attrs.set("group", groups);
  probe.spread = 3;
  return probe;
}

}  // namespace octet
