// SPDX-License-Identifier: Apache-2.0
// Fits preprocessing to a model's input: what is not said follows from its shape, what contradicts it is an error before any
// image is read.
#include <algorithm>

#include "core/check.h"
#include "data/preprocess.h"
#include "preprocess/preprocess_text.h"

namespace octet {
namespace {

// -1 where the model accepts any size.
struct ImageInput {
  s64 channels = -1;
  s64 height = -1;
  s64 width = -1;
  bool nhwc = false;
};

bool image_channels(s64 dim) { return dim == 1 || dim == 3; }

std::optional<ImageInput> image_input(const Shape& shape) {
  if (shape.rank() != 3 && shape.rank() != 4) return std::nullopt;
  const int first = shape.rank() - 3;
  const s64 a = shape[first], b = shape[first + 1], c = shape[first + 2];
  if (image_channels(a)) return ImageInput{a, b, c, false};
  if (image_channels(c)) return ImageInput{c, a, b, true};
  if (a < 0) return ImageInput{a, b, c, false};
  return std::nullopt;
}

bool fixed_size(const ImageInput& input) { return input.height > 0 && input.width > 0; }

Preprocess::Size size_of(const ImageInput& input, const TensorType& type) {
  if (input.height > 65535 || input.width > 65535) {
    fail(Error::Code::unsupported, "input {} is too large for images", to_string(type));
  }
  return {static_cast<int>(input.width), static_cast<int>(input.height)};
}

ImageInput need_image_input(const TensorType& type, const std::string& what) {
  const auto input = image_input(type.shape);
  if (!input) {
    fail(Error::Code::unsupported,
         "{} {} is not an image of 1 or 3 channels; give its data as .npy or .npz", what,
         to_string(type));
  }
  return *input;
}

// The size that every image ends with, whatever it was; {-1, -1} when it follows the image.
Preprocess::Size final_size(const Preprocess& p) {
  if (p.crop) return *p.crop;
  if (p.letterbox) return *p.letterbox;
  return p.resize.value_or(Preprocess::Size{-1, -1});
}

void check_fit(const Preprocess& p, const ImageInput& input, const std::string& what) {
  const s64 channels = p.color == Preprocess::Color::gray ? 1 : 3;
  if (input.channels > 0 && input.channels != channels) {
    fail(Error::Code::invalid_argument,
         "preprocessing gives {} channel{} (color {}), {} needs {}; set the color to {}", channels,
         channels == 1 ? "" : "s", color_name(p.color), what, input.channels,
         input.channels == 1 ? "gray" : "rgb or bgr");
  }
  if (input.channels > 0 && input.nhwc != (p.layout == "nhwc")) {
    fail(Error::Code::invalid_argument, "preprocessing gives layout {}, {} needs {}", p.layout,
         what, input.nhwc ? "nhwc" : "nchw");
  }
  const Preprocess::Size size = final_size(p);
  const bool fits = (input.width < 0 || size.width < 0 || input.width == size.width) &&
                    (input.height < 0 || size.height < 0 || input.height == size.height);
  if (!fits) {
    fail(Error::Code::invalid_argument,
         "preprocessing gives images of {}, {} needs width {} and height {}", to_text(size), what,
         input.width, input.height);
  }
}

constexpr int kOpenSize = 224;
constexpr int kOpenLetterbox = 640;

// What follows from the input, step by step.
void settle_fit(const ImageInput& input, const TensorType& type, Preprocess* p) {
  using Fit = Preprocess::Fit;
  const int open = p->fit == Fit::letterbox ? kOpenLetterbox : kOpenSize;
  const Preprocess::Size size =
      fixed_size(input) ? size_of(input, type) : Preprocess::Size{open, open};
  if (p->fit == Fit::stretch && fixed_size(input)) p->resize = size;
  if (p->fit == Fit::letterbox) p->letterbox = size;
  if (p->fit == Fit::crop) {
    p->crop = size;
    const int shorter = std::max(size.width, size.height);
    p->resize_short =
        static_cast<int>(std::min(65535.0f, static_cast<f32>(shorter) / p->crop_share));
  }
  if (input.channels > 0) p->layout = input.nhwc ? "nhwc" : "nchw";
  p->fit = Fit::as_said;
  p->crop_share = Preprocess{}.crop_share;
}

}  // namespace

int image_channel_axis(const Shape& shape) {
  const auto input = image_input(shape);
  if (!input) return -1;
  return input->nhwc ? shape.rank() - 1 : shape.rank() - 3;
}

Preprocess default_preprocess(const TensorType& type) {
  const ImageInput input = need_image_input(type, "input");
  Preprocess preprocess;
  if (input.channels == 1) preprocess.color = Preprocess::Color::gray;
  if (input.nhwc) preprocess.layout = "nhwc";
  if (fixed_size(input)) preprocess.resize = size_of(input, type);
  preprocess.scale = 255.0f;
  return preprocess;
}

Preprocess resolve_preprocess(const std::optional<Preprocess>& given, const TensorType& type,
                              const std::string& input_name) {
  const std::string what = fmt::format("input '{}'", input_name);
  const ImageInput input = need_image_input(type, what);
  if (!given) return default_preprocess(type);
  Preprocess preprocess = *given;
  check_preprocess(preprocess, "preprocessing");
  if (preprocess.fit != Preprocess::Fit::as_said) settle_fit(input, type, &preprocess);
  const bool no_geometry = preprocess.resize_short == 0 && !preprocess.resize &&
                           !preprocess.letterbox && !preprocess.crop;
  if (no_geometry && fixed_size(input)) preprocess.resize = size_of(input, type);
  check_fit(preprocess, input, fmt::format("{} {}", what, to_string(type)));
  return preprocess;
}

}  // namespace octet
