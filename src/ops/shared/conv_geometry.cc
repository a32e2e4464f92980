// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/check.h"
#include "ops/attributes/window.h"
#include "ops/shared/conv.h"

namespace octet {
namespace {

void check_ranks(const Shape& input, const Shape& weights) {
  if (input.rank() < 3 || weights.rank() != input.rank()) {
    fail(Error::Code::invalid_model,
         "weights {} and input {} do not fit; expected equal ranks of at least 3",
         to_string(weights), to_string(input));
  }
}

void check_kernel_shape(const ConvAttributes& attributes, const std::vector<s64>& kernel) {
  if (!attributes.kernel_shape || *attributes.kernel_shape == kernel) return;
  fail(Error::Code::invalid_model, "attribute 'kernel_shape' [{}] differs from the weights' [{}]",
       fmt::join(*attributes.kernel_shape, ","), fmt::join(kernel, ","));
}

}  // namespace

ConvGeometry conv_geometry(const Node& node, const Shape& input, const Shape& weights) {
  check_ranks(input, weights);
  const auto attributes = attributes_of<ConvAttributes>(node);
  const s64 groups = attributes.group;
  const s64 out_channels = weights[0];
  if (groups < 1 || out_channels % groups != 0 || input[1] % groups != 0) {
    fail(Error::Code::invalid_model,
         "attribute 'group' is {}; it must divide {} input and {} output channels", groups,
         input[1], out_channels);
  }
  if (weights[1] != input[1] / groups) {
    fail(Error::Code::invalid_model,
         "weights {} expect {} input channels in each of {} groups, but the input {} has {}",
         to_string(weights), weights[1], groups, to_string(input), input[1] / groups);
  }
  const std::vector<s64> kernel(weights.begin() + 2, weights.end());
  check_kernel_shape(attributes, kernel);
  return {.batch = input[0],
          .groups = groups,
          .in_channels = input[1],
          .out_channels = out_channels,
          .window = window_of(attributes, input, kernel)};
}

ConvGeometry rows_as_pixels(s64 rows, s64 k, s64 n) {
  ConvGeometry geometry;
  geometry.in_channels = k;
  geometry.out_channels = n;
  geometry.window.axes[1] = {.in = 1, .out = 1};
  geometry.window.axes[2] = {.in = rows, .out = rows};
  return geometry;
}

}  // namespace octet
