// SPDX-License-Identifier: Apache-2.0
// f32 GroupNormalization, and InstanceNormalization of what is no image: groups of one channel. A group's channels lie side by side, so that a group is a row of LayerNormalization's kernel, with scales of 1;
// scale and bias of each channel follow, which leaves the roundings of docs/numerics.md section 7 as they are.
#include <algorithm>
#include <string>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/host/queue.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

struct GroupNormStep {
  void (*layer_norm)(const RowArgs*);
  s64 groups, group_channels, pixels;  // groups of all images
  s64 image_groups;
  f32 epsilon;
  Tensor ones, zeros;  // of a group's size
  Tensor scale, bias;  // of the channels of an image

  void operator()(const StepArgs& step) const noexcept {
    pool_of(step).parallel_for(groups, [&](s64 begin, s64 end, int) {
      for (s64 group = begin; group < end; ++group) run_group(step, group);
    });
  }

  void run_group(const StepArgs& step, s64 group) const noexcept {
    const s64 count = group_channels * pixels;
    f32* dst = f32_output(step, 0) + group * count;
    const RowArgs args{f32_input(step, 0) + group * count,
                       dst,
                       count,
                       reinterpret_cast<const f32*>(ones.data()),
                       reinterpret_cast<const f32*>(zeros.data()),
                       epsilon,
                       1};
    layer_norm(&args);
    const s64 first = group % image_groups * group_channels;
    const f32* scales = reinterpret_cast<const f32*>(scale.data()) + first;
    const f32* biases = reinterpret_cast<const f32*>(bias.data()) + first;
    for (s64 c = 0; c < group_channels; ++c) {
      f32* channel = dst + c * pixels;
      for (s64 i = 0; i < pixels; ++i) channel[i] = channel[i] * scales[c] + biases[c];
    }
  }
};

// One value for each channel, of one for each or one for each group (opset 18).
Tensor for_channels(const Tensor& values, s64 channels) {
  const s64 each = channels / values.elements();
  Tensor all(Dtype::f32, {channels});
  const std::span<f32> to = all.mutable_as<f32>();
  for (size_t c = 0; c < to.size(); ++c) to[c] = values.as<f32>()[c / static_cast<size_t>(each)];
  return all;
}

Tensor filled(s64 count, f32 value) {
  Tensor tensor(Dtype::f32, {count});
  std::ranges::fill(tensor.mutable_as<f32>(), value);
  return tensor;
}

}  // namespace

Offer lower_f_group_norm(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (request.constant(1) == nullptr || request.constant(2) == nullptr)
    return Reject{"scale or bias is not constant"};
  const Shape& shape = request.inputs[0].shape;
  const s64 pixels = dims_product(shape, 2, shape.rank());
  if (shape.elements() == 0) return Reject{"there is nothing to normalize"};
  const bool instance = request.node.op->name == "InstanceNormalization";
  const s64 groups =
      instance ? shape[1] : attribute_of<&GroupNormAttributes::num_groups>(request.node);
  const s64 count = shape[1] / groups * pixels;
  const GroupNormStep step{kernel_for(kLayerNormF32, isa_of(request.target)),
                           shape[0] * groups,
                           shape[1] / groups,
                           pixels,
                           groups,
                           attribute_of<&NormAttributes::epsilon>(request.node),
                           Tensor(),
                           Tensor(),
                           for_channels(*request.constant(1), shape[1]),
                           for_channels(*request.constant(2), shape[1])};
  Candidate candidate;
  candidate.kernel = kernel_name("f32", "group_norm", isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = {false, true, true};
  // As large as a group of the image, and one for all layers of that size.
  candidate.prepare = [count](const BindArgs&) {
    return std::vector<Preparation>{preparation<Tensor>(fmt::format("{} ones", count), {},
                                                        [count] { return filled(count, 1); }),
                                    preparation<Tensor>(fmt::format("{} zeros", count), {},
                                                        [count] { return filled(count, 0); })};
  };
  candidate.bind = [step](const BindArgs& args) -> RunStep {
    GroupNormStep bound = step;
    bound.ones = prepared_tensor(args, 0);
    bound.zeros = prepared_tensor(args, 1);
    return bound;
  };
  return candidate;
}

}  // namespace octet
