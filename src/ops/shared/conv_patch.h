// SPDX-License-Identifier: Apache-2.0
// Walks a convolution's output and gathers the input patch of each pixel, in the order of the weights, so that every
// output is one dot product. Elements outside the input are 0: codes come with their zero point already subtracted.
#pragma once

#include <vector>

#include "core/types.h"
#include "ops/shared/conv.h"
#include "ops/shared/dot.h"

namespace octet {

// One output pixel of one image and channel group.
struct PatchPosition {
  s64 image = 0;
  s64 group = 0;
  s64 pixel = 0;  // within the output's spatial elements
};

template <class T>
void gather_patch(const ConvGeometry& geometry, const T* channels, const s64 (&at)[3], T* patch) {
  const auto& [d, h, w] = geometry.window.axes;
  for (s64 c = 0; c < geometry.in_channels_per_group(); ++c, channels += d.in * h.in * w.in) {
    for (s64 kd = 0; kd < d.kernel; ++kd) {
      const s64 z = at[0] + kd * d.dilation;
      for (s64 kh = 0; kh < h.kernel; ++kh) {
        const s64 y = at[1] + kh * h.dilation;
        const bool inside = z >= 0 && z < d.in && y >= 0 && y < h.in;
        const T* row = channels + (inside ? (z * h.in + y) * w.in : 0);
        for (s64 kw = 0; kw < w.kernel; ++kw) {
          const s64 x = at[2] + kw * w.dilation;
          *patch++ = inside && x >= 0 && x < w.in ? row[x] : T{0};
        }
      }
    }
  }
}

// Calls visit(PatchPosition, const T* patch); a patch has in_channels_per_group * kernel_elements values.
template <class T, class Visit>
void for_each_patch(const ConvGeometry& geometry, const T* input, const Visit& visit) {
  if (geometry.output_shape().elements() == 0) return;
  const auto& [d, h, w] = geometry.window.axes;
  const s64 group_channels = geometry.in_channels_per_group();
  const s64 pixels = geometry.window.out_elements();
  std::vector<T> patch(static_cast<size_t>(group_channels * geometry.window.kernel_elements()));
  for (s64 image_group = 0; image_group < geometry.batch * geometry.groups; ++image_group) {
    const T* channels = input + image_group * group_channels * geometry.window.in_elements();
    for (s64 pixel = 0; pixel < pixels; ++pixel) {
      const s64 at[3] = {pixel / (h.out * w.out) * d.stride - d.pad_begin,
                         pixel / w.out % h.out * h.stride - h.pad_begin,
                         pixel % w.out * w.stride - w.pad_begin};
      gather_patch(geometry, channels, at, patch.data());
      visit(PatchPosition{image_group / geometry.groups, image_group % geometry.groups, pixel},
            patch.data());
    }
  }
}

// The same down to single outputs: store(index in the output, output channel, dot product).
template <class T, class Store>
void convolve(const ConvGeometry& geometry, const T* input, const T* weights, const Store& store) {
  const s64 outputs = geometry.out_channels_per_group();
  const s64 pixels = geometry.window.out_elements();
  const s64 taps = geometry.in_channels_per_group() * geometry.window.kernel_elements();
  for_each_patch(geometry, input, [&](const PatchPosition& at, const T* patch) {
    const s64 first = at.group * outputs;
    for (s64 channel = first; channel < first + outputs; ++channel) {
      const s64 index = (at.image * geometry.out_channels + channel) * pixels + at.pixel;
      store(index, channel, dot(patch, weights + channel * taps, taps));
    }
  });
}

}  // namespace octet
