// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/pool_image/lower.h"

#include "backends/cuda/families/pool_image/spec.h"

namespace octet::cuda {
namespace {

Launch make_launch(const PoolStep& step, const BindArgs& bind) {
  const pool_image::Spec spec{.is_signed = step.x.dtype == Dtype::s8,
                              .window = pool_window(step),
                              .images = step.geometry.batch,
                              .channels = field_of(step.geometry.channels),
                              .x = pixel_strides(step.x.shape, bind.inputs[0]),
                              .y = pixel_strides(step.y.shape, bind.outputs[0])};
  return {.source = source_of("pool_image", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = pool_image::kThreads,
                    .shared_bytes = pool_image::shared_bytes(spec.window),
                    .programmatic_dependent = true}};
}

}  // namespace

bool fits_pool_image(const PoolStep& step) {
  constexpr s64 kLargeWindow = 16, kMostBytes = 48 << 10;
  return dtype_bytes(step.x.dtype) == 1 && step.geometry.channels % pool_image::kChannels == 0 &&
         step.geometry.window.kernel_elements() > kLargeWindow &&
         pool_image::shared_bytes(pool_window(step)) <= kMostBytes;
}

Candidate pool_image_candidate(const LowerRequest& request, const PoolStep& step) {
  Candidate candidate = pool_candidate(request, "max_pool_image", step);
  candidate.alignment = pool_image::kChannels;
  set_step(candidate, device_of(request),
           {.make_launch = [step](const BindArgs& bind) { return make_launch(step, bind); }},
           [](const StepData& data) {
             return pool_image::Params{data.input(0), data.output()};
           });
  return candidate;
}

}  // namespace octet::cuda
