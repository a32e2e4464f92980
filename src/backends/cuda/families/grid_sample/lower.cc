// SPDX-License-Identifier: Apache-2.0
// GridSample of images of reals (deformable attention of detectors).
#include <algorithm>

#include "backends/cuda/families/grid_sample/spec.h"
#include "backends/cuda/lower/step.h"
#include "ops/attributes/sampling.h"

namespace octet::cuda {

namespace {

grid_sample::Spec spec_of(const LowerRequest& request) {
  using grid_sample::Outside;
  const Shape &x = request.inputs[0].shape, &y = request.outputs[0].shape;
  const auto [mode, padding, align_corners] = attributes_of<GridSampleAttributes>(request.node);
  return {.count = y.elements(),
          .channels = x[1],
          .points = y[2] * y[3],
          .height = field_of(x[2]),
          .width = field_of(x[3]),
          .taps = mode == GridMode::nearest ? 1
                  : mode == GridMode::cubic ? 4
                                            : 2,
          .outside = padding == GridPadding::border       ? Outside::border
                     : padding == GridPadding::reflection ? Outside::reflection
                                                          : Outside::zero,
          .align_corners = align_corners};
}

}  // namespace

Offer lower_grid_sample(const LowerRequest& request) {
  const TensorType &x = request.inputs[0], &grid = request.inputs[1];
  const Shape& y = request.outputs[0].shape;
  if (x.dtype != Dtype::f32 || grid.dtype != Dtype::f32) return Reject{"an input is not f32"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (x.shape.rank() != 4) return Reject{"the input is not an image"};
  if (y.elements() == 0) return Reject{"there is nothing to compute"};
  if (std::max(x.shape[2], x.shape[3]) > grid_sample::kLongest)
    return Reject{"an axis is longer than 2^24"};
  const CudaDevice& device = device_of(request);
  const Launch launch{.source = source_of("grid_sample", spec_of(request)),
                      .shape = blocks_for(device, y.elements(), grid_sample::kThreads)};
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
             return grid_sample::Params{reinterpret_cast<const f32*>(data.input(0)),
                                        reinterpret_cast<const f32*>(grid_at),
                                        reinterpret_cast<f32*>(data.output())};
           });
  return candidate;
}

}  // namespace octet::cuda
