// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/check.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

// Taps of one axis that lie inside the input, or inside input and padding.
s64 counted(const WindowAxis& axis, s64 o, bool include_pad) {
  if (!include_pad) {
    const TapRange taps = taps_inside(axis, o);
    return std::max<s64>(taps.last - taps.first, 0);
  }
  const s64 room = axis.in + axis.pad_end - (o * axis.stride - axis.pad_begin);
  return std::clamp<s64>((room + axis.dilation - 1) / axis.dilation, 0, axis.kernel);
}

}  // namespace

s64 PoolGeometry::divisor(s64 d, s64 h, s64 w) const {
  return counted(window.d(), d, count_include_pad) * counted(window.h(), h, count_include_pad) *
         counted(window.w(), w, count_include_pad);
}

PoolGeometry pool_geometry(const Node& node, const Shape& input) {
  if (input.rank() < 3) {
    fail(Error::Code::invalid_model,
         "input {} has no spatial dimensions; expected [N, C, spatial...]", to_string(input));
  }
  const auto attributes = attributes_of<PoolAttributes>(node);
  if (!attributes.kernel_shape)
    fail(Error::Code::invalid_model, "attribute 'kernel_shape' is missing");
  PoolGeometry geometry{
      .batch = input[0],
      .channels = input[1],
      .count_include_pad = attributes.count_include_pad,
      .window = window_of(attributes, input, *attributes.kernel_shape, attributes.ceil_mode)};
  for (const WindowAxis& axis : geometry.window.axes) {
    if (axis.pad_begin >= axis.extent() || axis.pad_end >= axis.extent()) {
      fail(Error::Code::invalid_model,
           "attribute 'pads' holds {} and {}; a pool's padding must be smaller than its window of "
           "{}",
           axis.pad_begin, axis.pad_end, axis.extent());
    }
  }
  return geometry;
}

void infer_real_pool(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  const TensorType& x = inference.inputs[0];
  inference.output(x.dtype, pool_geometry(inference.node, x.shape).output_shape());
}

}  // namespace octet
