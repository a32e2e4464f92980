// SPDX-License-Identifier: Apache-2.0
// Any layout to any other, element by element: what a format means.
#include <cstring>

#include "backends/host/queue.h"
#include "backends/reference/reference.h"
#include "core/divide.h"
#include "plan/format.h"

namespace octet {
namespace {

struct Strides {
  s64 image, row, pixel;
  s64 block, channel;  // between blocks of kBlockChannels channels, and within one
  s64 channels;        // that a pixel has room for: with those that only fill it up

  s64 offset(s64 n, s64 y) const { return n * image + y * row; }
  s64 offset_of_channel(s64 c) const {
    return c / kBlockChannels * block + c % kBlockChannels * channel;
  }
};

Strides strides_of(const Placement& placement, const Shape& shape) {
  const s64 channels = shape[1], plane = shape[2] * shape[3];
  const s64 filled = ceil_div(channels, kBlockChannels) * kBlockChannels;
  if (placement.layout == Layout::linear)
    return {channels * plane, shape[3], 1, kBlockChannels * plane, plane, channels};
  const bool blocks = placement.layout == Layout::nc32hw32;
  return {placement.image_stride,
          placement.row_stride,
          placement.pixel_stride,
          blocks ? placement.block_stride : kBlockChannels,
          1,
          placement.layout == Layout::nhwc ? channels : filled};
}

struct Conversion {
  Shape shape;  // N, C, H, W
  Strides from, to;
  size_t element;

  void run_row(const std::byte* src, std::byte* dst, s64 n, s64 y) const {
    const auto at = [&](s64 offset) { return static_cast<size_t>(offset) * element; };
    for (s64 x = 0; x < shape[3]; ++x) {
      const s64 read = from.offset(n, y) + x * from.pixel, write = to.offset(n, y) + x * to.pixel;
      for (s64 c = 0; c < to.channels; ++c) {
        std::byte* target = dst + at(write + to.offset_of_channel(c));
        if (c < shape[1]) {
          std::memcpy(target, src + at(read + from.offset_of_channel(c)), element);
        } else {
          std::memset(target, 0, element);
        }
      }
    }
  }
};

RunStep bind_conversion(const TensorType& type, const BindArgs& args) {
  const size_t bytes = static_cast<size_t>(type.bytes());
  if (args.inputs[0].layout == Layout::linear && args.outputs[0].layout == Layout::linear) {
    return [bytes](const StepArgs& step) { std::memcpy(step.outputs[0], step.inputs[0], bytes); };
  }
  const Conversion conversion{type.shape, strides_of(args.inputs[0], type.shape),
                              strides_of(args.outputs[0], type.shape), dtype_bytes(type.dtype)};
  return [conversion](const StepArgs& step) {
    const s64 height = conversion.shape[2];
    pool_of(step).parallel_for(conversion.shape[0] * height, [&](s64 begin, s64 end, int) {
      for (s64 row = begin; row < end; ++row)
        conversion.run_row(step.inputs[0], step.outputs[0], row / height, row % height);
    });
  };
}

}  // namespace

Candidate reference_convert(const TensorType& type, Layout from, Layout to, const Target&) {
  Candidate candidate;
  candidate.kernel = from == to ? "copy" : "layout_reference";
  candidate.inputs = {from};
  candidate.outputs = {to};
  candidate.strided = candidate.by_image = true;
  candidate.bind = [type](const BindArgs& args) { return bind_conversion(type, args); };
  return candidate;
}

}  // namespace octet
