// SPDX-License-Identifier: Apache-2.0
// Output pixels and the inputs that their windows meet, of one to three spatial axes. A kernel names its window, and how x lies:
//   using Windows = WindowOf<PartOf<Made, &Spec::window>, PartOf<Made, &Spec::x>>;
#pragma once

#include "backends/cuda/device/window.h"

namespace octet::cuda {

struct Pixel {
  s32 n, out_d, out_h, out_w;
  s32 d, h, w;  // of the first tap in x; transposed: times the stride, and of the last
};

// Offset of the pixel's first channel in an operand, of which Own::spec() are the PlaceStrides.
template <class Own>
__device__ __forceinline__ s64 offset_of(const Pixel& pixel) {
  constexpr PlaceStrides by = Own::spec();
  return (s64)pixel.n * by.n + (s64)pixel.out_d * by.d + (s64)pixel.out_h * by.h + (s64)pixel.out_w * by.w;
}

template <class Window, class X>
struct WindowOf {
  static constexpr SpatialWindow s = Window::spec();
  static constexpr PlaceStrides x = X::spec();

  static __device__ __forceinline__ Pixel pixel_of(s32 m) {
    Pixel pixel;
    pixel.out_w = m % s.w.out, pixel.out_h = m / s.w.out % s.h.out, pixel.out_d = m / (s.w.out * s.h.out) % s.d.out;
    pixel.n = m / (s.w.out * s.h.out * s.d.out);
    if constexpr (s.transposed) {
      pixel.d = pixel.out_d + s.d.pad, pixel.h = pixel.out_h + s.h.pad, pixel.w = pixel.out_w + s.w.pad;
    } else {
      pixel.d = pixel.out_d * s.d.stride - s.d.pad, pixel.h = pixel.out_h * s.h.stride - s.h.pad;
      pixel.w = pixel.out_w * s.w.stride - s.w.pad;
    }
    return pixel;
  }

  static __device__ __forceinline__ bool tap_inside(s32& at, s32 tap, s32 stride, s32 dilation, s32 size) {
    if constexpr (s.transposed) {
      at -= tap * dilation;
      const bool meets = at >= 0 && at % stride == 0;
      at /= stride;
      return meets && at < size;
    } else {
      at += tap * dilation;
      return (u32)at < (u32)size;
    }
  }

  // Whether the tap meets the image, and the offset of the place in x.
  static __device__ __forceinline__ bool tap_place(const Pixel& pixel, s32 tap, s64& place) {
    s32 d = pixel.d, h = pixel.h, w = pixel.w;
    bool inside = tap_inside(d, tap / (s.h.kernel * s.w.kernel), s.d.stride, s.d.dilation, s.d.in);
    inside = tap_inside(h, tap / s.w.kernel % s.h.kernel, s.h.stride, s.h.dilation, s.h.in) && inside;
    inside = tap_inside(w, tap % s.w.kernel, s.w.stride, s.w.dilation, s.w.in) && inside;
    place = (s64)pixel.n * x.n + (s64)d * x.d + (s64)h * x.h + (s64)w * x.w;
    return inside;
  }
};

}  // namespace octet::cuda
