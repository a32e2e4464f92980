// SPDX-License-Identifier: Apache-2.0
// Input rows for windows that reach over the image's edge when the value has no border: bands of rows are copied, with
// padding, into a thread's buffer. Shared by the convolutions.
#pragma once

#include "core/types.h"
#include "ops/shared/window.h"
#include "plan/offer.h"

namespace octet {

// Strides, in elements, of the image that a kernel reads.
struct ImageStrides {
  s64 pixel = 0;
  s64 row = 0;
};

// Input elements of one axis from the first tap of the first output to the last tap of the last.
inline s64 span_of(const WindowAxis& axis) { return (axis.out - 1) * axis.stride + axis.extent(); }

// Zero-point rows and columns that a kernel would read around the image.
s64 window_border(const Window& window);
// One sentence when one window's padded rows are too large to buffer, or null.
const char* padded_rows_reject(const Window& window, s64 channels);

class PaddedRows {
 public:
  PaddedRows(const Window& window, s64 channels) : window_(window), channels_(channels) {}

  // Output rows whose input rows fit the buffer.
  s64 band_rows() const;
  s64 buffer_bytes()
      const;  // with room behind for a load of a few bytes that starts at the last pixel
  ImageStrides strides() const { return {channels_, row_bytes()}; }

  struct Image {
    const u8* data;  // pixel (0, 0)
    Placement placement;
    u8 padding;
  };
  // The windows of output rows [first, first + rows), rows <= band_rows().
  void copy(const Image& image, s64 first, s64 rows, u8* dst) const noexcept;

 private:
  s64 row_bytes() const { return span_of(window_.w()) * channels_; }
  s64 input_rows(s64 rows) const { return (rows - 1) * window_.h().stride + window_.h().extent(); }

  Window window_;
  s64 channels_;
};

// Position of an output pixel; runs through rows and images.
struct PixelCursor {
  s64 image, y, x;

  PixelCursor(const Window& window, s64 pixel)
      : image(pixel / window.w().out / window.h().out),
        y(pixel / window.w().out % window.h().out),
        x(pixel % window.w().out) {}

  void next(const Window& window) {
    if (++x < window.w().out) return;
    x = 0;
    if (++y < window.h().out) return;
    y = 0;
    ++image;
  }

  s64 offset(const Placement& p) const {
    return image * p.image_stride + y * p.row_stride + x * p.pixel_stride;
  }
};

}  // namespace octet
