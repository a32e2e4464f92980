// SPDX-License-Identifier: Apache-2.0
#include "data/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/file.h"
#include "core/memory.h"
#include "data/exif.h"
#include "data/resize.h"

namespace octet {
namespace {

constexpr u64 kMaxImageFileBytes = u64{1} << 30;

int color_channels(Preprocess::Color color) { return color == Preprocess::Color::gray ? 1 : 3; }

// Luma of ITU-R 601 in 16-bit fixed point, as Pillow's convert("L").
u8 luma(const u8* rgb) {
  return static_cast<u8>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

Image convert_color(Image src, Preprocess::Color color) {
  const int channels = color_channels(color);
  const size_t n = static_cast<size_t>(src.width) * static_cast<size_t>(src.height);
  if (src.channels == channels && color != Preprocess::Color::bgr) return src;
  Image dst{src.width, src.height, channels, std::vector<u8>(n * static_cast<size_t>(channels))};
  const u8* s = src.pixels.data();
  u8* d = dst.pixels.data();
  if (channels == 1) {
    for (size_t i = 0; i < n; ++i) d[i] = luma(s + i * 3);
  } else if (src.channels == 1) {
    for (size_t i = 0; i < n * 3; ++i) d[i] = s[i / 3];
  } else {
    for (size_t i = 0; i < n * 3; i += 3) {
      d[i] = s[i + 2];
      d[i + 1] = s[i + 1];
      d[i + 2] = s[i];
    }
  }
  return dst;
}

int scaled_side(int side, int numerator, int denominator) {
  return static_cast<int>(std::max<s64>(1, static_cast<s64>(side) * numerator / denominator));
}

Image resize_shorter(const Image& src, int shorter, const std::string& name) {
  const bool wide = src.width > src.height;
  const int width = wide ? scaled_side(src.width, shorter, src.height) : shorter;
  const int height = wide ? shorter : scaled_side(src.height, shorter, src.width);
  check_image_size(width, height, name);
  return resize_bilinear(src, width, height);
}

// As YOLOX: sides rounded down, at the top left.
LetterboxPlace corner_place(const Preprocess::Size& src, const Preprocess::Size& size) {
  const bool fills_width =
      static_cast<s64>(size.width) * src.height <= static_cast<s64>(size.height) * src.width;
  if (fills_width) return {size.width, scaled_side(src.height, size.width, src.width)};
  return {scaled_side(src.width, size.height, src.height), size.height};
}

// As Ultralytics: sides rounded to nearest, ties to even, and of an odd number of rows that are left the smaller half before the image.
LetterboxPlace center_place(const Preprocess::Size& src, const Preprocess::Size& size) {
  const f64 ratio = std::min(static_cast<f64>(size.width) / src.width,
                             static_cast<f64>(size.height) / src.height);
  const auto side = [&](int length, int most) {
    return std::clamp(static_cast<int>(std::nearbyint(length * ratio)), 1, most);
  };
  LetterboxPlace place{side(src.width, size.width), side(src.height, size.height)};
  place.left = (size.width - place.width) / 2;
  place.top = (size.height - place.height) / 2;
  return place;
}

Image letterbox(const Image& src, const Preprocess& p) {
  const Preprocess::Size& size = *p.letterbox;
  const LetterboxPlace place = letterbox_place({src.width, src.height}, size, p.letterbox_align);
  const Image inner = resize_bilinear(src, place.width, place.height);
  const size_t channels = static_cast<size_t>(src.channels);
  const size_t row = static_cast<size_t>(size.width) * channels;
  const size_t inner_row = static_cast<size_t>(place.width) * channels;
  Image dst{size.width, size.height, src.channels, {}};
  dst.pixels.assign(row * static_cast<size_t>(size.height), static_cast<u8>(p.letterbox_fill));
  u8* first = dst.pixels.data() + static_cast<size_t>(place.top) * row +
              static_cast<size_t>(place.left) * channels;
  for (size_t y = 0; y < static_cast<size_t>(place.height); ++y)
    std::copy_n(inner.pixels.data() + y * inner_row, inner_row, first + y * row);
  return dst;
}

// Half of a difference, ties to even: torchvision's int(round(d / 2.0)).
int half_even(int difference) {
  const int half = difference / 2;
  return difference % 2 == 0 ? half : half + half % 2;
}

Image center_crop(const Image& src, const Preprocess::Size& size, const std::string& name) {
  if (size.width > src.width || size.height > src.height) {
    fail(Error::Code::invalid_argument,
         "'{}': crop {}x{} is larger than the image of {}x{} pixels; resize first", name,
         size.width, size.height, src.width, src.height);
  }
  const size_t left = static_cast<size_t>(half_even(src.width - size.width));
  const size_t top = static_cast<size_t>(half_even(src.height - size.height));
  const size_t channels = static_cast<size_t>(src.channels);
  const size_t row = static_cast<size_t>(size.width) * channels;
  const size_t src_row = static_cast<size_t>(src.width) * channels;
  Image dst{size.width, size.height, src.channels, {}};
  dst.pixels.resize(row * static_cast<size_t>(size.height));
  for (size_t y = 0; y < static_cast<size_t>(size.height); ++y) {
    std::copy_n(src.pixels.data() + (top + y) * src_row + left * channels, row,
                dst.pixels.data() + y * row);
  }
  return dst;
}

f32 channel_value(const std::vector<f32>& values, size_t channel, f32 absent) {
  if (values.empty()) return absent;
  return values.size() == 1 ? values[0] : values[channel];
}

f32 scale_value(f32 x, const Preprocess& p, size_t channel) {
  return (x / p.scale - channel_value(p.mean, channel, 0.0f)) / channel_value(p.std, channel, 1.0f);
}

void check_channel_count(const Preprocess& p, s64 channels, const std::string& name) {
  for (const auto* values : {&p.mean, &p.std}) {
    if (values->size() > 1 && static_cast<s64>(values->size()) != channels) {
      fail(Error::Code::invalid_argument, "{}: {} has {} values, the data has {} channel{}", name,
           values == &p.mean ? "mean" : "std", values->size(), channels, channels == 1 ? "" : "s");
    }
  }
}

Image apply_geometry(Image src, const Preprocess& p, const std::string& name) {
  Image image = convert_color(std::move(src), p.color);
  if (p.resize_short > 0) image = resize_shorter(image, p.resize_short, name);
  if (p.resize) image = resize_bilinear(std::move(image), p.resize->width, p.resize->height);
  if (p.letterbox) image = letterbox(image, p);
  if (p.crop) image = center_crop(image, *p.crop, name);
  return image;
}

}  // namespace

LetterboxPlace letterbox_place(const Preprocess::Size& image, const Preprocess::Size& box,
                               Preprocess::Align align) {
  return align == Preprocess::Align::center ? center_place(image, box) : corner_place(image, box);
}

Tensor preprocess_image(Image src, const Preprocess& p, const std::string& name) {
  const Image image = apply_geometry(std::move(src), p, name);
  check_channel_count(p, image.channels, name);
  const size_t channels = static_cast<size_t>(image.channels);
  const size_t pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  const bool nhwc = p.layout == "nhwc";
  Tensor tensor(Dtype::f32, nhwc ? Shape{image.height, image.width, image.channels}
                                 : Shape{image.channels, image.height, image.width});
  const size_t pixel_stride = nhwc ? channels : 1;
  const size_t channel_stride = nhwc ? 1 : pixels;
  for (size_t c = 0; c < channels; ++c) {
    std::array<f32, 256> table{};
    for (size_t i = 0; i < table.size(); ++i) table[i] = scale_value(static_cast<f32>(i), p, c);
    f32* dst = tensor.mutable_as<f32>().data() + c * channel_stride;
    const u8* s = image.pixels.data() + c;
    for (size_t i = 0; i < pixels; ++i) dst[i * pixel_stride] = table[s[i * channels]];
  }
  return tensor;
}

Tensor load_image(const std::filesystem::path& path, const Preprocess& preprocess) {
  const std::string name = path.string();
  Image image;
  int orientation = 1;
  {
    const std::vector<u8> bytes = read_file(path, kMaxImageFileBytes);
    image = decode_image(bytes, name);
    if (preprocess.orientation == Preprocess::Orientation::exif)
      orientation = exif_orientation(bytes);
  }
  if (orientation != 1) {
    check_fits(static_cast<s64>(image.pixels.size()), "turning '" + name + "'");
    image = turned(std::move(image), orientation);
  }
  return preprocess_image(std::move(image), preprocess, name);
}

void scale_array(Tensor* array, const Preprocess& p, const std::string& name) {
  const Shape& shape = array->shape();
  const int axis = p.layout == "nhwc" ? shape.rank() - 1 : 1;
  const bool has_channels = shape.rank() >= 3;
  const s64 channels = has_channels ? shape[axis] : 1;
  check_channel_count(p, channels, name);
  size_t inner = 1;
  for (int i = axis + 1; has_channels && i < shape.rank(); ++i) {
    inner *= static_cast<size_t>(shape[i]);
  }
  const std::span<f32> values = array->mutable_as<f32>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = scale_value(values[i], p, i / inner % static_cast<size_t>(channels));
  }
}

}  // namespace octet
