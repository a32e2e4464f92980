// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/f_phases.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/divide.h"

namespace octet {
namespace {

struct PhaseOfAxis {
  s64 first = 0;
  WindowAxis window;
  std::vector<s64> taps;  // in the order of the inputs that they read
};

// Tap k of output o reads input (o + pad_begin - k * dilation) / stride where that is whole: for the phase's outputs the taps with one remainder.
std::optional<PhaseOfAxis> phase_of(const WindowAxis& axis, s64 first) {
  PhaseOfAxis phase{.first = first, .window = {}, .taps = {}};
  s64 lowest = 0;
  for (s64 k = axis.kernel - 1; k >= 0; --k) {
    const s64 distance = first + axis.pad_begin - k * axis.dilation;
    if (distance % axis.stride != 0) continue;
    if (phase.taps.empty()) lowest = distance / axis.stride;
    phase.taps.push_back(k);
  }
  if (phase.taps.empty() || lowest > 0) return std::nullopt;
  phase.window = {.in = axis.in,
                  .out = ceil_div(axis.out - first, axis.stride),
                  .kernel = static_cast<s64>(phase.taps.size()),
                  .stride = 1,
                  .dilation = axis.dilation / std::gcd(axis.dilation, axis.stride),
                  .pad_begin = -lowest,
                  .pad_end = 0};
  return phase;
}

std::vector<PhaseOfAxis> phases_of(const WindowAxis& axis) {
  std::vector<PhaseOfAxis> phases;
  for (s64 first = 0; first < std::min(axis.stride, axis.out); ++first) {
    std::optional<PhaseOfAxis> phase = phase_of(axis, first);
    if (!phase) return {};
    phases.push_back(*std::move(phase));
  }
  return phases;
}

// A phase of the axes before, and one of the next.
ConvPhase joined(const ConvPhase& outer, size_t axis, const PhaseOfAxis& inner) {
  ConvPhase phase = outer;
  const s64 kernel = phase.geometry.window.axes[axis].kernel;
  phase.geometry.window.axes[axis] = inner.window;
  phase.first[axis] = inner.first;
  phase.taps.clear();
  for (const s64 tap : outer.taps) {
    for (const s64 k : inner.taps) phase.taps.push_back(tap * kernel + k);
  }
  return phase;
}

}  // namespace

s64 phase_count(const ConvGeometry& transposed) {
  // A stride may be 2^31.
  f64 count = 1;
  for (const WindowAxis& axis : transposed.window.axes)
    count *= static_cast<f64>(std::min(axis.stride, axis.out));
  return static_cast<s64>(std::min(count, 1e9));
}

std::vector<ConvPhase> phases_of(const ConvGeometry& transposed) {
  std::vector<ConvPhase> phases{{.geometry = transposed, .taps = {0}}};
  for (size_t axis = 0; axis < 3; ++axis) {
    const std::vector<PhaseOfAxis> of_axis = phases_of(transposed.window.axes[axis]);
    std::vector<ConvPhase> wider;
    for (const ConvPhase& outer : phases) {
      for (const PhaseOfAxis& inner : of_axis) wider.push_back(joined(outer, axis, inner));
    }
    phases = std::move(wider);
  }
  return phases;
}

Tensor phase_weights(const Tensor& given, const ConvPhase& phase) {
  const ConvGeometry& g = phase.geometry;
  const s64 ins = g.in_channels_per_group(), outs = g.out_channels_per_group();
  const s64 given_taps = given.elements() / (g.in_channels * outs);
  Tensor weights(Dtype::f32, Shape{g.out_channels, ins, static_cast<s64>(phase.taps.size())});
  const f32* from = given.as<f32>().data();
  f32* to = weights.mutable_as<f32>().data();
  for (s64 o = 0; o < g.out_channels; ++o) {
    for (s64 i = 0; i < ins; ++i) {
      const f32* kernel = from + ((o / outs * ins + i) * outs + o % outs) * given_taps;
      for (const s64 tap : phase.taps) *to++ = kernel[tap];
    }
  }
  return weights;
}

}  // namespace octet
