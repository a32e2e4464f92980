// SPDX-License-Identifier: Apache-2.0
// f32 convolution of images by our own kernels: bias, residual, activation and rounding in registers. What they do not take is f_conv.cc's.
#include "backends/cpu/device.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_sum_end.h"

namespace octet {

Offer lower_f_conv_panels(const LowerRequest& request) {
  if (std::string reason = panel_conv_reject(request); !reason.empty()) return Reject{reason};
  const Shape& taps = request.inputs[1].shape;
  const ConvGeometry g = conv_geometry(request.node, request.inputs[0].shape, taps);
  if (std::string reason = span_reject(g.window); !reason.empty()) return Reject{reason};
  const Isa isa = isa_of(request.target);
  const PanelSpec spec{.geometry = g,
                       .kernel = panel_kernel(request),
                       .end = sum_end_of(request.node),
                       .residual_input = request.has_input(3) ? size_t{3} : size_t{0},
                       .threads = request.target.threads,
                       .x_halves = is_stored_half(request.inputs[0]),
                       .residual_halves = request.has_input(3) && is_stored_half(request.inputs[3]),
                       .y_halves = is_stored_half(request.outputs[0])};
  if (has_idle_lanes(g, spec.kernel) && dnnl_reject(request).empty())
    return Reject{"groups have too few channels"};
  if (spec.kernel.pairs && g.groups > 1 && g.in_channels_per_group() % 2 != 0)
    return Reject{"groups have odd channels"};
  Candidate candidate = panel_candidate(request, spec, conv_weights(g));
  candidate.kernel = spec.kernel.pairs ? "bf16_conv" : kernel_name("f32", "conv", isa);
  return candidate;
}

}  // namespace octet
