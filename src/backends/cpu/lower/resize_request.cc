// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/resize_request.h"

#include <algorithm>

#include "ops/attributes/sampling.h"

namespace octet {
namespace {

// A plan holds where each place of an axis is read: at most so many (96 MiB for two taps). Longer ones are for the run, which asks its memory's limit first.
constexpr s64 kLongestAxis = 1 << 22;

bool is_long(const Shape& shape) {
  return std::ranges::any_of(shape.dims(), [](s64 dim) { return dim > kLongestAxis; });
}

}  // namespace

bool read_constant_ints(const LowerRequest& request, size_t i, std::vector<s64>& values) {
  const Tensor* tensor = request.constant(i);
  if (tensor == nullptr) return false;
  if (tensor->dtype() == Dtype::s64) {
    const auto ints = tensor->as<s64>();
    values.assign(ints.begin(), ints.end());
  } else if (tensor->dtype() == Dtype::s32) {
    const auto ints = tensor->as<s32>();
    values.assign(ints.begin(), ints.end());
  }
  return true;
}

std::string read_resize(const LowerRequest& request, ResizeGeometry& geometry, bool* by_sizes) {
  ResizeParameters parameters;
  if (const Tensor* scales = request.constant(2)) {
    if (scales->dtype() != Dtype::f32) return "the scales are not f32";
    parameters.scales.assign(scales->as<f32>().begin(), scales->as<f32>().end());
  } else if (request.has_input(2) && request.inputs[2].shape.elements() != 0) {
    return "the scales are not constant";
  }
  if (request.has_input(3) && !read_constant_ints(request, 3, parameters.sizes))
    return "the sizes are not constant";
  if (attribute_of<&ResizeAttributes::coordinate_transformation_mode>(request.node) ==
      ResizeCoordinates::tf_crop_and_resize)
    return "it crops";
  if (is_long(request.inputs[0].shape) || is_long(request.outputs[0].shape))
    return "an axis is longer than a plan's tables";
  geometry = resize_geometry(request.node, request.inputs[0].shape, parameters);
  if (geometry.output != request.outputs[0].shape) return "the output size is not constant";
  if (by_sizes != nullptr) *by_sizes = !parameters.sizes.empty();
  return {};
}

}  // namespace octet
