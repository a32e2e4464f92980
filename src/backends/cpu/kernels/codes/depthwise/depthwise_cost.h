// SPDX-License-Identifier: Apache-2.0
// Estimated cycles of one core for a depthwise convolution (see conv_cost.h).
#pragma once

#include "backends/cpu/kernels/codes/depthwise/flat_depthwise.h"

namespace octet {

// A block of channels takes its time however many of them there are.
inline f64 depthwise_cost(const DepthwiseKernel& kernel, const ConvGeometry& g) {
  const s64 taps = g.window.h().kernel * g.window.w().kernel;
  const s64 blocks = g.in_channels / kernel.order.channels();
  const bool rest = g.in_channels % kernel.order.channels() != 0;
  const f64 pixel = static_cast<f64>(blocks) + (rest ? kernel.rest_blocks : 0);
  return static_cast<f64>(g.batch * g.window.out_elements() * taps) * pixel * kernel.block_cycles;
}

// Strided pixels are gathered.
inline f64 flat_depthwise_cost(const FlatDepthwiseKernel& kernel, const ConvGeometry& g) {
  constexpr f64 kStrided = 1.15;
  const s64 macs = g.batch * g.window.out_elements() * g.in_channels * 9;
  return static_cast<f64>(macs) * kernel.mac_cycles * (g.window.w().stride > 1 ? kStrided : 1);
}

}  // namespace octet
