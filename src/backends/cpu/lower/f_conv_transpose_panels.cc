// SPDX-License-Identifier: Apache-2.0
// f32 transposed convolution by our own kernels: each phase of the outputs is a plain convolution, written to its places. What this does not take
// is f_conv_transpose.cc's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_phases.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "backends/cpu/lower/f_volumes.h"
#include "ops/shared/conv.h"

namespace octet {
namespace {

Preparation panels_of(const ConvPhase& phase, const Tensor& weights, const Tensor& bias,
                      const PanelKernel& kernel) {
  const ConvGeometry& g = phase.geometry;
  const std::string key = fmt::format("transposed panels {} {} {} {}", kernel.lanes, g.groups,
                                      g.out_channels, fmt::join(phase.taps, " "));
  return preparation<PackedPanels>(key, {weights, bias}, [=] {
    return PackedPanels(phase_weights(weights, phase), bias, conv_weights(phase.geometry), kernel);
  });
}

// The preparations and the products of all phases; `Product` has a constructor as PanelProduct.
template <class Product, class Spec>
void run_phases(const LowerRequest& request, const std::vector<ConvPhase>& phases,
                const std::vector<Spec>& specs, Candidate& candidate) {
  candidate.kernel = kernel_name("f32", "conv_transpose", isa_of(request.target));
  const Tensor weights = *request.constant(1);
  const Tensor bias = request.has_input(2) ? *request.constant(2) : Tensor();
  candidate.prepare = [=, kernel = specs.front().kernel](const BindArgs&) {
    std::vector<Preparation> all;
    for (const ConvPhase& phase : phases) all.push_back(panels_of(phase, weights, bias, kernel));
    return all;
  };
  candidate.bind = [specs](const BindArgs& bind) -> RunStep {
    std::vector<Product> products;
    for (const Spec& spec : specs) products.emplace_back(spec, bind);
    return [products](const StepArgs& args) {
      for (const Product& product : products) product(args);
    };
  };
}

PanelSpec panel_spec(const LowerRequest& request, const ConvGeometry& whole, const ConvPhase& phase,
                     size_t index) {
  return {.geometry = phase.geometry,
          .kernel = panel_kernel(isa_of(request.target)),
          .end = sum_end_of(request.node),
          .threads = request.target.threads,
          .part = {.image = request.outputs[0].shape,
                   .row = phase.first[1],
                   .column = phase.first[2],
                   .row_step = whole.window.h().stride,
                   .column_step = whole.window.w().stride},
          .prepared = index};
}

Candidate image_candidate(const LowerRequest& request, const ConvGeometry& whole,
                          const std::vector<ConvPhase>& phases) {
  Candidate candidate = panel_image_candidate(request, 0);
  std::vector<PanelSpec> specs;
  for (const ConvPhase& phase : phases) {
    const PanelSpec& spec = specs.emplace_back(panel_spec(request, whole, phase, specs.size()));
    const ConvGeometry& g = spec.geometry;
    candidate.cost += static_cast<f64>(g.batch * g.groups) *
                      panel_cycles(spec.kernel.lanes, g.window.out_elements(),
                                   g.window.kernel_elements() * g.in_channels_per_group(),
                                   g.out_channels_per_group());
    candidate.workspace_bytes = std::max(candidate.workspace_bytes, panel_workspace_bytes(spec));
  }
  run_phases<PanelProduct>(request, phases, specs, candidate);
  return candidate;
}

VolumeSpec volume_spec(const LowerRequest& request, const ConvGeometry& whole,
                       const ConvPhase& phase, size_t index) {
  VolumeSpec spec{.geometry = phase.geometry,
                  .kernel = panel_kernel(isa_of(request.target)),
                  .isa = isa_of(request.target),
                  .end = sum_end_of(request.node),
                  .threads = request.target.threads,
                  .prepared = index};
  for (size_t axis = 0; axis < 3; ++axis) {
    const WindowAxis& window = whole.window.axes[axis];
    spec.out[axis] = {window.out, phase.first[axis], window.stride};
  }
  return spec;
}

Candidate volume_candidate(const LowerRequest& request, const ConvGeometry& whole,
                           const std::vector<ConvPhase>& phases) {
  std::vector<VolumeSpec> specs;
  for (const ConvPhase& phase : phases)
    specs.push_back(volume_spec(request, whole, phase, specs.size()));
  Candidate candidate = volumes_candidate(request, specs);
  run_phases<VolumeProduct>(request, phases, specs, candidate);
  return candidate;
}

// Each begins and stores by itself. Of few channels oneDNN is faster at many of them (64 of 3 channels, not 16; measured).
s64 most_phases(const LowerRequest& request, const ConvGeometry& whole) {
  constexpr s64 kMost = 64, kMostOfFew = 16;
  const s64 lanes = panel_kernel(isa_of(request.target)).lanes;
  const bool few = 2 * whole.out_channels_per_group() < lanes;
  return few && dnnl_reject(request).empty() ? kMostOfFew : kMost;
}

}  // namespace

Offer lower_f_conv_transpose_panels(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (std::string reason = panel_operands_reject(request); !reason.empty()) return Reject{reason};
  const ConvGeometry whole =
      conv_transpose_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape);
  if (const s64 count = phase_count(whole); count > most_phases(request, whole))
    return Reject{fmt::format("its outputs have {} phases", count)};
  const std::vector<ConvPhase> phases = phases_of(whole);
  if (phases.empty()) return Reject{"no tap reaches some of the outputs"};
  for (const ConvPhase& phase : phases) {
    if (std::string reason = span_reject(phase.geometry.window); !reason.empty())
      return Reject{reason};
  }
  if (has_idle_lanes(whole, panel_kernel(isa_of(request.target))) && dnnl_reject(request).empty())
    return Reject{"groups have too few channels"};
  return whole.window.rank == 2 ? image_candidate(request, whole, phases)
                                : volume_candidate(request, whole, phases);
}

}  // namespace octet
