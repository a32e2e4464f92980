// SPDX-License-Identifier: Apache-2.0
// GridSample of images of reals (deformable attention of detectors): kernels/grid_sample.cu.
#include <algorithm>

#include "backends/cuda/lower/step.h"

namespace octet::cuda {

Offer lower_grid_sample(const LowerRequest& request) {
  constexpr s64 kLongest = 1 << 24;
  const TensorType &x = request.inputs[0], &grid = request.inputs[1];
  const Shape& y = request.outputs[0].shape;
  if (x.dtype != Dtype::f32 || grid.dtype != Dtype::f32) return Reject{"an input is not f32"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (x.shape.rank() != 4) return Reject{"the input is not an image"};
  if (y.elements() == 0) return Reject{"there is nothing to compute"};
  if (std::max(x.shape[2], x.shape[3]) > kLongest) return Reject{"an axis is longer than 2^24"};
  const std::string mode = request.node.attrs.s("mode", "linear");
  const std::string padding = request.node.attrs.s("padding_mode", "zeros");
  const CudaDevice& device = device_of(request);
  Launch launch{.source = {"grid_sample", {}}, .shape = blocks_for(device, y.elements())};
  KernelSource& source = launch.source;
  source.set("COUNT", y.elements());
  source.set("C", x.shape[1]), source.set("POINTS", y[2] * y[3]);
  source.set("H", x.shape[2]), source.set("W", x.shape[3]);
  source.set("TAPS", s64{mode == "nearest" ? 1 : mode == "cubic" ? 4 : 2});
  source.set("BORDER", s64{padding == "border"});
  source.set("REFLECTION", s64{padding == "reflection"});
  source.set("ALIGN", s64{request.node.attrs.i("align_corners", 0) != 0});
  Candidate candidate = candidate_of(request, "grid_sample", Layout::linear);
  const Tensor* positions = request.constant(1);
  StepParts parts{.make_launch = [launch](const BindArgs&) { return launch; }};
  if (positions != nullptr) {
    parts.recipes = [positions = *positions](const BindArgs&) {
      return std::vector{constant_blob(positions)};
    };
  }
  set_step(candidate, device, std::move(parts),
           [is_constant = positions != nullptr](const StepData& data) {
             const u8* grid_at = is_constant ? data.blob<u8>(0) : data.input(1);
             return params::GridSampleParams{reinterpret_cast<const f32*>(data.input(0)),
                                             reinterpret_cast<const f32*>(grid_at),
                                             reinterpret_cast<f32*>(data.output())};
           });
  return candidate;
}

}  // namespace octet::cuda
