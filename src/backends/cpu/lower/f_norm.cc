// SPDX-License-Identifier: Apache-2.0
// f32 BatchNormalization that no convolution took in, of nhwc images and of rows [N,C], and InstanceNormalization of nhwc images.
#include <cmath>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_channel_moments.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr size_t kStatisticsGiven = 5;  // inputs of BatchNormalization

struct Statistics {
  const f32* mean;
  const f32* factor;
};

struct NormStep {
  void (*normalize)(const NormalizeArgs*);
  ChannelMoments moments;
  Tensor scale, bias;
  Tensor mean, factor;  // BatchNormalization; empty: measured in each image

  Statistics statistics(const StepArgs& step, s64 image) const noexcept {
    if (mean) {
      return {reinterpret_cast<const f32*>(mean.data()),
              reinterpret_cast<const f32*>(factor.data())};
    }
    const f32* room = reinterpret_cast<const f32*>(step.workspace);
    return {moments.means(room, image), moments.factors(room, image)};
  }

  void operator()(const StepArgs& step) const noexcept {
    if (!mean) moments.measure(f32_input(step, 0), reinterpret_cast<f32*>(step.workspace), step);
    const s64 pixels = moments.pixels(), channels = moments.channels();
    pool_of(step).parallel_for(moments.shape[0] * pixels, [&](s64 begin, s64 end, int) {
      for (s64 pixel = begin; pixel < end; ++pixel) {
        const Statistics s = statistics(step, pixel / pixels);
        const NormalizeArgs args{f32_input(step, 0) + pixel * channels,
                                 f32_output(step, 0) + pixel * channels,
                                 channels,
                                 s.mean,
                                 s.factor,
                                 reinterpret_cast<const f32*>(scale.data()),
                                 reinterpret_cast<const f32*>(bias.data()),
                                 1};
        normalize(&args);
      }
    });
  }
};

std::string reject(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return reason;
  const int rank = request.inputs[0].shape.rank();
  if (rank != 4 && (rank != 2 || request.inputs.size() < kStatisticsGiven))
    return "only images are normalized in f32, and rows whose statistics are given";
  for (size_t i = 1; i < request.inputs.size(); ++i) {
    if (request.constant(i) == nullptr) return "a parameter is not constant";
  }
  return {};
}

// Rows are images of one pixel.
Shape as_image(const Shape& shape) {
  return shape.rank() == 2 ? Shape{shape[0], shape[1], 1, 1} : shape;
}

NormStep step_of(const LowerRequest& request) {
  const f32 epsilon = attribute_of<&NormAttributes::epsilon>(request.node);
  NormStep step{kernel_for(kNormalizeF32, isa_of(request.target)),
                {kernel_for(kColumnSumF32, isa_of(request.target)),
                 as_image(request.inputs[0].shape), epsilon},
                *request.constant(1),
                *request.constant(2),
                {},
                {}};
  if (request.inputs.size() < kStatisticsGiven) return step;
  step.mean = *request.constant(3);
  step.factor = request.constant(4)->clone();
  for (f32& x : step.factor.mutable_as<f32>()) x = 1.0f / std::sqrt(x + epsilon);
  return step;
}

}  // namespace

Offer lower_f_norm(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const NormStep step = step_of(request);
  Candidate candidate;
  candidate.kernel =
      kernel_name("f32", step.mean ? "batch_norm" : "instance_norm", isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.holds = request.constants();
  candidate.holds[0] = false;
  const Layout layout = request.inputs[0].shape.rank() == 4 ? Layout::nhwc : Layout::linear;
  candidate.inputs[0] = layout;
  candidate.outputs = {layout};
  if (!step.mean) candidate.workspace_bytes = step.moments.bytes();
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
