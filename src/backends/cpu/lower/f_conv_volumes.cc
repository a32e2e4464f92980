// SPDX-License-Identifier: Apache-2.0
// f32 convolution of one or three dimensions by our own kernels. What this does not take is f_conv.cc's.
#include "backends/cpu/device.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "backends/cpu/lower/f_volumes.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kResidual };

std::string reject(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return reason;
  if (request.inputs[kX].shape.rank() == 4) return "the input is an image";
  if (std::string reason = panel_operands_reject(request); !reason.empty()) return reason;
  if (multiplies_bf16(request)) return "the products are of bf16";
  return {};
}

}  // namespace

Offer lower_f_conv_volumes(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Isa isa = isa_of(request.target);
  VolumeSpec spec{.geometry = conv_geometry(request.node, request.inputs[kX].shape,
                                            request.inputs[kWeights].shape),
                  .kernel = panel_kernel(isa),
                  .isa = isa,
                  .end = sum_end_of(request.node),
                  .residual = request.has_input(kResidual),
                  .threads = request.target.threads};
  const ConvGeometry& g = spec.geometry;
  if (std::string reason = span_reject(g.window); !reason.empty()) return Reject{reason};
  for (size_t axis = 0; axis < 3; ++axis) spec.out[axis].size = g.window.axes[axis].out;
  if (has_idle_lanes(g, spec.kernel) && dnnl_reject(request).empty())
    return Reject{"groups have too few channels"};
  Candidate candidate = volumes_candidate(request, {spec});
  candidate.kernel = kernel_name("f32", "conv_volume", isa);
  const Tensor weights = *request.constant(kWeights);
  const Tensor bias = request.has_input(kBias) ? *request.constant(kBias) : Tensor();
  candidate.prepare = [weights, bias, from = conv_weights(g),
                       kernel = spec.kernel](const BindArgs&) {
    return std::vector<Preparation>{panels_preparation(weights, bias, from, kernel)};
  };
  candidate.bind = [spec](const BindArgs& bind) -> RunStep { return VolumeProduct(spec, bind); };
  return candidate;
}

}  // namespace octet
