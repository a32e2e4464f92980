// SPDX-License-Identifier: Apache-2.0
#include "preprocess/found_preprocess.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/bounded_json.h"
#include "preprocess/preprocess_text.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;
using Fit = Preprocess::Fit;
using Size = Preprocess::Size;

constexpr int kMaxFoundDepth = 16;
constexpr const char* kExpectedFound = "what preprocesses images for a model";

// One object of such a file; what is not there has a default.
struct Fields : JsonFields {
  bool has(const char* key) const { return object.contains(key) && !object[key].is_null(); }
  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!object[key].is_boolean()) wrong("'{}' is not true or false", key);
    return object[key].get<bool>();
  }
  f32 single(const char* key, f32 otherwise) const {
    return has(key) ? static_cast<f32>(number(object[key], key)) : otherwise;
  }
  int side(const Json& value, const char* key) const {
    if (!value.is_number_integer() || value.get<s64>() < 1 || value.get<s64>() > 65535)
      wrong("'{}' holds no length of 1 to 65535", key);
    return value.get<int>();
  }
  std::vector<f32> numbers(const char* key) const {
    std::vector<f32> values;
    if (!has(key)) return values;
    for (const Json& value : list(key)) values.push_back(static_cast<f32>(number(value, key)));
    if (values.size() > 3)
      wrong("'{}' has {} numbers; expected one for each channel", key, values.size());
    return values;
  }
};

// {"height": 224, "width": 224}, {"shortest_edge": 224}, or 224, which is the shorter side where `number_is_short` and else both.
void read_size(const Fields& from, const char* key, bool number_is_short, Preprocess* into) {
  const Json& size = from.at(key);
  if (size.is_object() && size.contains("height") && size.contains("width")) {
    into->resize = Size{from.side(size["width"], key), from.side(size["height"], key)};
  } else if (size.is_object() && size.contains("shortest_edge") && !size.contains("longest_edge")) {
    into->resize_short = from.side(size["shortest_edge"], key);
  } else if (size.is_object()) {
    fail(Error::Code::unsupported, "{}: a '{}' of {} is none that Octet resizes to", from.file, key,
         size.dump());
  } else if (number_is_short) {
    into->resize_short = from.side(size, key);
  } else {
    into->resize = Size{from.side(size, key), from.side(size, key)};
  }
}

// ConvNeXt's: the size is that of the crop, and the image somewhat larger.
void apply_share(const Fields& from, Preprocess* into) {
  if (!from.has("crop_pct") || into->resize_short == 0) return;
  const f32 share = from.single("crop_pct", 1);
  if (!(share > 0 && share <= 1)) from.wrong("'crop_pct' is not above 0 and at most 1");
  const int side = into->resize_short;
  into->crop = Size{side, side};
  into->resize_short = static_cast<int>(std::min(65535.0f, static_cast<f32>(side) / share));
}

void read_geometry(const Fields& from, Preprocess* into) {
  const bool crops = from.flag("do_center_crop", false);
  if (from.flag("do_resize", from.has("size")) && from.has("size")) {
    read_size(from, "size", crops, into);
    apply_share(from, into);
  }
  if (!crops || !from.has("crop_size")) return;
  Preprocess crop;
  read_size(from, "crop_size", false, &crop);
  into->crop = crop.resize;
  if (!into->crop && crop.resize_short > 0) into->crop = Size{crop.resize_short, crop.resize_short};
}

void read_numbers(const Fields& from, Preprocess* into) {
  const bool rescales = from.flag("do_rescale", true);
  const f32 factor = from.single("rescale_factor", 1.0f / 255);
  if (rescales && !(factor > 0)) from.wrong("'rescale_factor' is not above 0");
  // 1/255 as a float has no exact inverse: 255 was meant.
  const f32 inverse = 1 / factor;
  const f32 near = std::nearbyint(inverse * 2) / 2;
  into->scale = !rescales ? 1 : std::abs(inverse - near) < 1e-3f * near ? near : inverse;
  if (from.flag("do_normalize", from.has("image_mean"))) {
    into->mean = from.numbers("image_mean");
    into->std = from.numbers("image_std");
  }
  if (!from.flag("rescale_offset", false)) return;
  if (into->mean.empty()) into->mean = {0};
  for (f32& mean : into->mean) mean += 1;
}

void note_resampling(const Fields& from, FoundPreprocess* into) {
  constexpr int kBilinear = 2;
  const bool other = from.has("resample") && from.object["resample"] != kBilinear;
  const bool named = from.has("interpolation") && from.object["interpolation"] != "bilinear";
  if (!other && !named) return;
  into->notes.push_back(fmt::format(
      "{}: images are resized otherwise there than Octet does it (bilinear, antialiased)",
      from.file));
}

// "[640, 480]": height first.
std::optional<Size> size_in(std::string_view text) {
  std::vector<int> sides;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int side = 0;
    const auto [rest, error] = std::from_chars(at, end, side);
    if (error != std::errc()) {
      ++at;
      continue;
    }
    sides.push_back(side);
    at = rest;
  }
  const auto fits = [](int side) { return side > 0 && side <= 65535; };
  if (sides.empty() || sides.size() > 2 || !std::ranges::all_of(sides, fits)) return std::nullopt;
  return Size{sides.back(), sides.front()};
}

}  // namespace

std::optional<FoundPreprocess> found_in_metadata(const Metadata& metadata) {
  const auto value = [&](std::string_view key) -> const std::string* {
    const auto at = std::ranges::find(metadata, key, &Metadata::value_type::first);
    return at == metadata.end() ? nullptr : &at->second;
  };
  const std::string *task = value("task"), *imgsz = value("imgsz"), *stride = value("stride");
  if (task == nullptr || imgsz == nullptr || stride == nullptr) return std::nullopt;
  FoundPreprocess found{find_preprocess_preset("ultralytics")->preprocess,
                        "the model's metadata (Ultralytics, " + task->substr(0, 32) + ")",
                        {}};
  const auto size = size_in(*imgsz);
  if (*task == "classify") {
    found.preprocess = find_preprocess_preset("unit")->preprocess;
    found.preprocess.fit = Fit::crop;
    found.preprocess.crop_share = 1;
  } else if (size) {
    found.preprocess.fit = Fit::as_said;
    found.preprocess.letterbox = size;
  }
  return found;
}

std::optional<FoundPreprocess> found_in_hugging_face(std::string_view text,
                                                     const std::string& file) {
  const OrderedJsonTree tree = parse_bounded_json(text, file, kMaxFoundDepth);
  const Fields fields{{tree.value, file, kExpectedFound}};
  fields.check_object();
  if (!fields.has("image_mean") && !fields.has("do_rescale") && !fields.has("do_normalize") &&
      !fields.has("do_resize"))
    return std::nullopt;
  FoundPreprocess found{{}, file, {}};
  read_geometry(fields, &found.preprocess);
  read_numbers(fields, &found.preprocess);
  if (fields.flag("do_flip_channel_order", false)) found.preprocess.color = Preprocess::Color::bgr;
  note_resampling(fields, &found);
  check_preprocess(found.preprocess, file);
  return found;
}

std::optional<FoundPreprocess> found_in_timm(std::string_view text, const std::string& file) {
  const OrderedJsonTree tree = parse_bounded_json(text, file, kMaxFoundDepth);
  if (!tree.value.is_object()) return std::nullopt;
  const Json& config =
      tree.value.contains("pretrained_cfg") ? tree.value["pretrained_cfg"] : tree.value;
  if (!config.is_object() || !config.contains("mean") || !config.contains("std") ||
      !config.contains("input_size"))
    return std::nullopt;
  const Fields fields{{config, file, kExpectedFound}};
  FoundPreprocess found{find_preprocess_preset("timm")->preprocess, file + " (timm)", {}};
  Preprocess& p = found.preprocess;
  p.mean = fields.numbers("mean");
  p.std = fields.numbers("std");
  p.crop_share = fields.single("crop_pct", p.crop_share);
  if (fields.has("crop_mode") && fields.object["crop_mode"] == "squash") p.fit = Fit::stretch;
  note_resampling(fields, &found);
  check_preprocess(p, file);
  return found;
}

}  // namespace octet
