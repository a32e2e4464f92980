// SPDX-License-Identifier: Apache-2.0
#include "preprocess/preprocess_text.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/check.h"
#include "preprocess/image_limits.h"

namespace octet {
namespace {

constexpr int kMaxSide = 65535;
constexpr size_t kMaxChannels = 3;
constexpr std::string_view kColorNames[] = {"rgb", "bgr", "gray"};
constexpr std::string_view kAlignNames[] = {"corner", "center"};
constexpr std::string_view kFitNames[] = {"as_said", "stretch", "crop", "letterbox"};

int parse_side(std::string_view text, const std::string& what, std::string_view whole,
               std::string_view expected) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxSide) {
    fail(Error::Code::invalid_argument, "{}: expected {} with sides of 1 to {}, got '{}'", what,
         expected, kMaxSide, whole);
  }
  return value;
}

f32 parse_float(std::string_view text, const std::string& what, std::string_view whole) {
  f32 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    fail(Error::Code::invalid_argument, "{}: expected numbers separated by commas, got '{}'", what,
         whole);
  }
  return value;
}

f32 parse_fill(std::string_view word, const std::string& what, std::string_view whole) {
  const f32 fill = parse_float(word, what, whole);
  if (!(fill >= 0 && fill <= 255) || fill != std::floor(fill)) {
    fail(Error::Code::invalid_argument, "{}: the fill must be a whole number of 0 to 255, got '{}'",
         what, whole);
  }
  return fill;
}

void check_channels(const std::vector<f32>& values, const char* key, const std::string& where) {
  if (values.size() > kMaxChannels || values.size() == 2) {
    fail(Error::Code::invalid_argument, "{}: {} needs 1 or 3 values, got {}", where, key,
         values.size());
  }
  for (f32 v : values) {
    if (!std::isfinite(v)) fail(Error::Code::invalid_argument, "{}: {} is not finite", where, key);
  }
}

void check_side(const Preprocess::Size& size, const char* key, const std::string& where) {
  if (size.width < 1 || size.height < 1 || size.width > kMaxSide || size.height > kMaxSide ||
      static_cast<s64>(size.width) * size.height > kMaxImagePixels) {
    fail(Error::Code::invalid_argument, "{}: {} {} is out of range", where, key, to_text(size));
  }
}

}  // namespace

Preprocess::Size parse_size(std::string_view text, const std::string& what) {
  const size_t x = text.find('x');
  const std::string_view width = text.substr(0, x);
  const std::string_view height = x == text.npos ? "" : text.substr(x + 1);
  return {parse_side(width, what, text, "WIDTHxHEIGHT"),
          parse_side(height, what, text, "WIDTHxHEIGHT")};
}

void parse_resize(std::string_view text, const std::string& what, Preprocess* preprocess) {
  preprocess->resize.reset();
  preprocess->resize_short = 0;
  if (text.find('x') != text.npos) {
    preprocess->resize = parse_size(text, what);
  } else {
    preprocess->resize_short =
        parse_side(text, what, text, "WIDTHxHEIGHT or the length of the shorter side");
  }
}

void parse_letterbox(std::string_view text, const std::string& what, Preprocess* preprocess) {
  const size_t colon = text.find(':');
  preprocess->letterbox = parse_size(text.substr(0, colon), what);
  for (std::string_view rest = colon == text.npos ? "" : text.substr(colon); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    if (!word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) != 0) {
      preprocess->letterbox_align = parse_align(word, what);
    } else {
      preprocess->letterbox_fill = parse_fill(word, what, text);
    }
  }
}

std::vector<f32> parse_floats(std::string_view text, const std::string& what) {
  std::vector<f32> values;
  std::string_view rest = text;
  for (;;) {
    const size_t comma = rest.find(',');
    values.push_back(parse_float(rest.substr(0, comma), what, text));
    if (comma == rest.npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

Preprocess::Color parse_color(std::string_view text, const std::string& what) {
  for (size_t i = 0; i < std::size(kColorNames); ++i) {
    if (text == kColorNames[i]) return static_cast<Preprocess::Color>(i);
  }
  fail(Error::Code::invalid_argument, "{}: expected rgb, bgr or gray, got '{}'", what, text);
}

Preprocess::Orientation parse_orientation(std::string_view text, const std::string& what) {
  if (text == "exif") return Preprocess::Orientation::exif;
  if (text == "stored") return Preprocess::Orientation::stored;
  fail(Error::Code::invalid_argument, "{}: expected exif or stored, got '{}'", what, text);
}

std::string_view orientation_name(Preprocess::Orientation orientation) {
  return orientation == Preprocess::Orientation::exif ? "exif" : "stored";
}

std::string_view color_name(Preprocess::Color color) {
  return kColorNames[static_cast<size_t>(color)];
}

Preprocess::Align parse_align(std::string_view text, const std::string& what) {
  if (text == kAlignNames[0]) return Preprocess::Align::corner;
  if (text == kAlignNames[1]) return Preprocess::Align::center;
  fail(Error::Code::invalid_argument, "{}: expected corner (top left) or center, got '{}'", what,
       text);
}

std::string_view align_name(Preprocess::Align align) {
  return kAlignNames[static_cast<size_t>(align)];
}

Preprocess::Fit parse_fit(std::string_view text, const std::string& what) {
  for (size_t i = 1; i < std::size(kFitNames); ++i) {
    if (text == kFitNames[i]) return static_cast<Preprocess::Fit>(i);
  }
  fail(Error::Code::invalid_argument, "{}: expected stretch, crop or letterbox, got '{}'", what,
       text);
}

std::string_view fit_name(Preprocess::Fit fit) { return kFitNames[static_cast<size_t>(fit)]; }

std::string to_text(const Preprocess::Size& size) {
  return fmt::format("{}x{}", size.width, size.height);
}

void check_preprocess(const Preprocess& preprocess, const std::string& where) {
  const Preprocess& p = preprocess;
  if (!(p.scale > 0) || !std::isfinite(p.scale)) {
    fail(Error::Code::invalid_argument, "{}: scale must be above 0, got {}", where, p.scale);
  }
  check_channels(p.mean, "mean", where);
  check_channels(p.std, "std", where);
  for (f32 v : p.std) {
    if (!(v > 0)) {
      fail(Error::Code::invalid_argument, "{}: std must be above 0, got {}", where, v);
    }
  }
  if (p.resize_short < 0 || p.resize_short > kMaxSide) {
    fail(Error::Code::invalid_argument, "{}: resize_short {} is out of range", where,
         p.resize_short);
  }
  if (p.resize) check_side(*p.resize, "resize", where);
  if (p.letterbox) check_side(*p.letterbox, "letterbox", where);
  if (p.crop) check_side(*p.crop, "crop", where);
  if (!(p.letterbox_fill >= 0 && p.letterbox_fill <= 255) ||
      p.letterbox_fill != std::floor(p.letterbox_fill)) {
    fail(Error::Code::invalid_argument, "{}: letterbox_fill must be a whole number of 0 to 255",
         where);
  }
  if (!(p.crop_share > 0 && p.crop_share <= 1)) {
    fail(Error::Code::invalid_argument, "{}: crop_share must be above 0 and at most 1, got {}",
         where, p.crop_share);
  }
  if (p.layout != "nchw" && p.layout != "nhwc") {
    fail(Error::Code::invalid_argument, "{}: layout must be nchw or nhwc, got '{}'", where,
         p.layout);
  }
}

}  // namespace octet
