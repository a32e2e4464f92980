// SPDX-License-Identifier: Apache-2.0
// f32 transposed convolution of images by our own kernels: outputs that lie a stride apart (a phase) are a plain convolution with the taps that
// reach them, and each is written to its places. What this does not take is f_conv_transpose.cc's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "ops/shared/conv.h"

namespace octet {
namespace {

// Along one axis: the outputs first, first + stride, ...
struct PhaseOfAxis {
  s64 first = 0;
  WindowAxis window;
  std::vector<s64> taps;  // in the order of the inputs that they read
};

// Tap k of output o reads input (o + pad_begin - k * dilation) / stride where that is whole: for the phase's outputs the taps with one remainder.
// None: no tap reaches the phase, or its first output reads nothing of the first input.
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
                  .out = (axis.out - first + axis.stride - 1) / axis.stride,
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

struct PanelPhase {
  PanelSpec spec;
  std::vector<s64> taps;  // of the given kernel, in the order of the phase's
};

PanelPhase panel_phase(const LowerRequest& request, const ConvGeometry& whole,
                       const PhaseOfAxis& rows, const PhaseOfAxis& columns) {
  const WindowAxis &h = whole.window.h(), &w = whole.window.w();
  PanelPhase phase{.spec = {.geometry = whole,
                            .kernel = panel_kernel(isa_of(request.target)),
                            .end = sum_end_of(request.node),
                            .threads = request.target.threads,
                            .part = {.image = request.outputs[0].shape,
                                     .row = rows.first,
                                     .column = columns.first,
                                     .row_step = h.stride,
                                     .column_step = w.stride}},
                   .taps = {}};
  phase.spec.geometry.window.axes[1] = rows.window;
  phase.spec.geometry.window.axes[2] = columns.window;
  for (const s64 y : rows.taps) {
    for (const s64 x : columns.taps) phase.taps.push_back(y * w.kernel + x);
  }
  return phase;
}

std::vector<PanelPhase> phases_of(const LowerRequest& request) {
  const ConvGeometry whole =
      conv_transpose_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape);
  const std::vector<PhaseOfAxis> columns = phases_of(whole.window.w());
  std::vector<PanelPhase> phases;
  for (const PhaseOfAxis& row : phases_of(whole.window.h())) {
    for (const PhaseOfAxis& column : columns) {
      phases.push_back(panel_phase(request, whole, row, column));
      phases.back().spec.prepared = phases.size() - 1;
    }
  }
  return phases;
}

// Of the given weights, [C, O / group, taps], those of a phase as a convolution has them: [O, C / group, taps].
Tensor phase_weights(const Tensor& given, const ConvGeometry& g, const std::vector<s64>& taps) {
  const s64 ins = g.in_channels_per_group(), outs = g.out_channels_per_group();
  const s64 given_taps = given.shape()[2] * given.shape()[3];
  const auto count = static_cast<s64>(taps.size());
  Tensor weights(Dtype::f32, Shape{g.out_channels, ins, count});
  const f32* from = given.as<f32>().data();
  f32* to = weights.mutable_as<f32>().data();
  for (s64 o = 0; o < g.out_channels; ++o) {
    for (s64 i = 0; i < ins; ++i) {
      const f32* kernel = from + ((o / outs * ins + i) * outs + o % outs) * given_taps;
      for (const s64 tap : taps) *to++ = kernel[tap];
    }
  }
  return weights;
}

Preparation panels_of(const PanelPhase& phase, const Tensor& weights, const Tensor& bias) {
  const ConvGeometry& g = phase.spec.geometry;
  const std::string key = fmt::format("transposed panels {} {} {} {}", phase.spec.kernel.lanes,
                                      g.groups, g.out_channels, fmt::join(phase.taps, " "));
  const s64 taps = g.window.kernel_elements(), ins = g.in_channels_per_group();
  const PanelWeights from{g.groups, g.out_channels_per_group(), taps, ins, ins * taps, 1, taps};
  return preparation<PackedPanels>(key, {weights, bias}, [=, kernel = phase.spec.kernel] {
    return PackedPanels(phase_weights(weights, g, phase.taps), bias, from, kernel);
  });
}

std::string reject(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return reason;
  if (std::string reason = image_conv_reject(request); !reason.empty()) return reason;
  if (request.constant(0) != nullptr) return "the input is constant";
  return {};
}

}  // namespace

Offer lower_f_conv_transpose_panels(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const std::vector<PanelPhase> phases = phases_of(request);
  if (phases.empty()) return Reject{"no tap reaches some of the outputs"};
  const PanelSpec& first = phases.front().spec;
  if (first.geometry.groups > 1 &&
      2 * first.geometry.out_channels_per_group() < first.kernel.lanes &&
      dnnl_reject(request).empty())
    return Reject{"groups have too few channels"};
  Candidate candidate = panel_image_candidate(request, 0);
  candidate.kernel = kernel_name("f32", "conv_transpose", isa_of(request.target));
  for (const PanelPhase& phase : phases) {
    const ConvGeometry& g = phase.spec.geometry;
    candidate.cost += static_cast<f64>(g.batch * g.groups) *
                      panel_cycles(phase.spec.kernel.lanes, g.window.out_elements(),
                                   g.window.kernel_elements() * g.in_channels_per_group(),
                                   g.out_channels_per_group());
    candidate.workspace_bytes =
        std::max(candidate.workspace_bytes, panel_workspace_bytes(phase.spec));
  }
  const Tensor weights = *request.constant(1);
  const Tensor bias = request.has_input(2) ? *request.constant(2) : Tensor();
  candidate.prepare = [=](const BindArgs&) {
    std::vector<Preparation> all;
    for (const PanelPhase& phase : phases) all.push_back(panels_of(phase, weights, bias));
    return all;
  };
  candidate.bind = [=](const BindArgs& bind) -> RunStep {
    std::vector<PanelProduct> products;
    for (const PanelPhase& phase : phases) products.emplace_back(phase.spec, bind);
    return [products](const StepArgs& args) {
      for (const PanelProduct& product : products) product(args);
    };
  };
  return candidate;
}

}  // namespace octet
