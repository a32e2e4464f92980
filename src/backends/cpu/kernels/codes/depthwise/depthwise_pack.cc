// SPDX-License-Identifier: Apache-2.0
// Packing of depthwise weights for every kernel of the table.
#include <fmt/format.h>

#include "backends/cpu/kernels/codes/depthwise/depthwise.h"
#include "core/divide.h"

namespace octet {
namespace {

// Index into [KH, KW] of tap `i` of group step `step`, or -1 for a filled-up group.
s64 tap_of(const DepthwiseKernel& kernel, const Window& window, s64 step, s64 i) {
  const s64 kh = window.h().kernel, kw = window.w().kernel;
  if (kernel.vertical) {
    const s64 y = step / kw * kernel.group + i;
    return y < kh ? y * kw + step % kw : -1;
  }
  const s64 tap = step * kernel.group + i;
  return tap < kh * kw ? tap : -1;
}

// Kernels for s16 take the weights as they are, those for s8 in parts.
template <class T>
void pack_weights(const DepthwiseKernel& kernel, const DepthwiseSpec& spec, s64 steps, T* dst) {
  const s64 parts = sizeof(T) == 1 ? spec.weights.parts() : 1;
  const Window& window = spec.geometry.window;
  const s64 channels = spec.geometry.in_channels;
  const s64 width = kernel.order.channels();
  const s64 taps = window.h().kernel * window.w().kernel;
  for (s64 first = 0; first < channels; first += width) {
    for (s64 step = 0; step < parts * steps; ++step) {
      for (s64 position = 0; position < width; ++position) {
        const s64 channel = first + kernel.order.channel(position);
        for (s64 i = 0; i < kernel.group; ++i, ++dst) {
          const s64 tap = tap_of(kernel, window, step % steps, i);
          if (channel >= channels || tap < 0) continue;
          const s64 at = channel * taps + tap;
          *dst = static_cast<T>(sizeof(T) == 1 ? spec.weights.part(at, step / steps)
                                               : spec.weights[at]);
        }
      }
    }
  }
}

}  // namespace

s32 depthwise_bias(const DepthwiseSpec& spec, s64 channel) {
  const Window& window = spec.geometry.window;
  const s64 taps = window.h().kernel * window.w().kernel;
  s64 sum = 0;
  for (s64 i = 0; i < taps; ++i) sum += spec.weights[channel * taps + i];
  const s64 bias = spec.bias.empty() ? 0 : spec.bias[static_cast<size_t>(channel)];
  return static_cast<s32>(static_cast<u32>(bias - sum * spec.input_zero_point));
}

std::string depthwise_key(const DepthwiseSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  return fmt::format("{}x{} {} zero {}{}", g.window.h().kernel, g.window.w().kernel, g.in_channels,
                     spec.input_zero_point, spec.weights.wide.empty() ? "" : " wide");
}

std::string DepthwiseConv::pack_key(const DepthwiseKernel& kernel, const DepthwiseSpec& spec) {
  return fmt::format("{} {}", kernel.name, depthwise_key(spec));
}

PackedDepthwise DepthwiseConv::pack(const DepthwiseKernel& kernel, const DepthwiseSpec& spec) {
  const Window& window = spec.geometry.window;
  const s64 channels = spec.geometry.in_channels;
  const s64 width = kernel.order.channels();
  const s64 kh = window.h().kernel, kw = window.w().kernel;
  const s64 steps =
      kernel.vertical ? ceil_div(kh, kernel.group) * kw : ceil_div(kh * kw, kernel.group);
  PackedDepthwise packed;
  const s64 padded = ceil_div(channels, width) * width;
  const s64 parts = kernel.weight_bytes == 1 ? spec.weights.parts() : 1;
  packed.weights.resize(
      static_cast<size_t>(padded * parts * steps * kernel.group * kernel.weight_bytes));
  if (kernel.weight_bytes == 1) {
    pack_weights(kernel, spec, steps, reinterpret_cast<s8*>(packed.weights.data()));
  } else {
    pack_weights(kernel, spec, steps, reinterpret_cast<s16*>(packed.weights.data()));
  }
  DepthwiseSpec met = spec;  // by the codes that the kernel multiplies
  met.input_zero_point -= kernel.shift;
  packed.bias.resize(static_cast<size_t>(padded));
  packed.multiplier.resize(packed.bias.size());
  for (s64 i = 0; i < padded; ++i) {
    const s64 channel = i / width * width + kernel.order.channel(i % width);
    if (channel >= channels) continue;
    const auto from = static_cast<size_t>(spec.multiplier.size() == 1 ? 0 : channel);
    packed.bias[static_cast<size_t>(i)] = depthwise_bias(met, channel);
    packed.multiplier[static_cast<size_t>(i)] = spec.multiplier[from];
  }
  return packed;
}

}  // namespace octet
