// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/float_variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/divide.h"
#include "ops/attributes/window.h"

namespace octet::cuda {
namespace {

// Weights that are made of the graph's: value(channel, tap, input channel).
template <class Value>
void set_weights(FloatProduct& product, std::string form, Value value) {
  const s64 outputs = product.geometry.out_channels, channels = product.cin();
  const s64 taps = product.geometry.window.kernel_elements();
  product.weights_form = std::move(form);
  product.weight_channel = taps * channels, product.weight_cin = 1, product.weight_tap = channels;
  product.made_weights = [outputs, taps, channels, value = std::move(value)] {
    Tensor weights(Dtype::f32, {outputs, taps, channels});
    f32* to = weights.mutable_as<f32>().data();
    for (s64 c = 0; c < outputs; ++c) {
      for (s64 k = 0; k < taps * channels; ++k) *to++ = value(c, k / channels, k % channels);
    }
    return weights;
  };
}

// Of one axis: the tap k = first + stride * j reads the input at q + shift - j, for output q of the phase.
struct PhaseAxis {
  s64 first = 0, shift = 0, taps = 0;
  WindowAxis window{};

  s64 tap(s64 position, s64 stride) const { return first + stride * (taps - 1 - position); }
};

PhaseAxis phase_axis(const WindowAxis& axis, s64 phase) {
  PhaseAxis result;
  result.first = (phase + axis.pad_begin) % axis.stride;
  result.shift = (phase + axis.pad_begin) / axis.stride;
  result.taps = ceil_div(axis.kernel - result.first, axis.stride);
  result.window = {.in = axis.in,
                   .out = ceil_div(axis.out - phase, axis.stride),
                   .kernel = result.taps,
                   .stride = 1,
                   .dilation = 1,
                   .pad_begin = result.taps - 1 - result.shift,
                   .pad_end = 0};
  return result;
}

FloatPhase phase_of(const FloatProduct& product, s64 row, s64 column) {
  const Window& window = product.geometry.window;
  const PhaseAxis h = phase_axis(window.h(), row), w = phase_axis(window.w(), column);
  FloatPhase phase{product, row, column};
  FloatProduct& result = phase.product;
  result.transposed = false;
  result.geometry.window.axes[1] = h.window;
  result.geometry.window.axes[2] = w.window;
  std::string form = fmt::format("transposed, taps {} and {} by {}, {} and {} by {}", h.taps,
                                 h.first, window.h().stride, w.taps, w.first, window.w().stride);
  set_weights(result, std::move(form), [product, h, w](s64 channel, s64 tap, s64 input) {
    const Window& own = product.geometry.window;
    const s64 cout = product.cout(), group = channel / cout;
    const s64 pair = (group * product.cin() + input) * cout + channel % cout;
    const s64 from =
        h.tap(tap / w.taps, own.h().stride) * own.w().kernel + w.tap(tap % w.taps, own.w().stride);
    return product.weights.as<f32>()[static_cast<size_t>(pair * own.kernel_elements() + from)];
  });
  return phase;
}

}  // namespace

bool has_wider_groups(s64 groups, s64 cin, s64 cout, s64 few) {
  const s64 most = std::min(groups & -groups, kWidestFloatGroup / cin);
  for (s64 each = 2; each <= most; each *= 2) {
    if (each * cout > few) return true;
  }
  return false;
}

FloatProduct with_groups(const FloatProduct& product, s64 groups) {
  const s64 each = product.geometry.groups / groups;
  FloatProduct result = product;
  result.geometry.groups = groups;
  set_weights(result, fmt::format("{} groups of {}", groups, each),
              [product, each](s64 channel, s64 tap, s64 input) {
                const s64 own = channel / product.cout() % each, cin = product.cin();
                return input / cin == own ? product.weight(channel, tap * cin + input % cin) : 0.0f;
              });
  return result;
}

std::string reject_phases(const Node& node, const Shape& x, const Shape& weights) {
  if (weights.rank() != 4) return "it has not two spatial axes";
  constexpr s64 kMostPhases = 16;
  const Window window = conv_transpose_geometry(node, x, weights).window;
  const WindowAxis &h = window.h(), &w = window.w();
  if (h.dilation != 1 || w.dilation != 1) return "it is dilated";
  if (h.kernel < h.stride || w.kernel < w.stride) return "its stride passes its kernel";
  return h.stride > kMostPhases || h.stride * w.stride > kMostPhases ? "it has many phases" : "";
}

std::vector<FloatPhase> phases_of(const FloatProduct& product) {
  if (!product.transposed) return {{product}};
  std::vector<FloatPhase> phases;
  const WindowAxis &h = product.geometry.window.h(), &w = product.geometry.window.w();
  for (s64 row = 0; row < std::min(h.stride, h.out); ++row) {
    for (s64 column = 0; column < std::min(w.stride, w.out); ++column)
      phases.push_back(phase_of(product, row, column));
  }
  return phases;
}

PixelStrides phase_strides(const FloatProduct& product, const PixelStrides& y) {
  if (!product.transposed) return y;
  const Window& window = product.geometry.window;
  return {y.image, y.row * window.h().stride, y.pixel * window.w().stride};
}

}  // namespace octet::cuda
