// SPDX-License-Identifier: Apache-2.0
// What families of models are trained with, by name; and preprocessing in words.
#include <fmt/format.h>

#include <algorithm>

#include "octet/preprocess.h"
#include "preprocess/preprocess_text.h"

namespace octet {
namespace {

using Fit = Preprocess::Fit;

constexpr f32 kPixels = 255;
const std::vector<f32> kImageNetMean = {0.485f, 0.456f, 0.406f};
const std::vector<f32> kImageNetStd = {0.229f, 0.224f, 0.225f};

Preprocess with(Fit fit, f32 scale, std::vector<f32> mean = {}, std::vector<f32> std = {}) {
  Preprocess made;
  made.fit = fit;
  made.scale = scale;
  made.mean = std::move(mean);
  made.std = std::move(std);
  return made;
}

Preprocess letterboxed(Preprocess::Align align, Preprocess::Color color, f32 scale) {
  Preprocess made = with(Fit::letterbox, scale);
  made.letterbox_align = align;
  made.color = color;
  return made;
}

Preprocess bgr(Preprocess made) {
  made.color = Preprocess::Color::bgr;
  return made;
}

std::vector<PreprocessPreset> make_presets() {
  const Preprocess torchvision = with(Fit::crop, kPixels, kImageNetMean, kImageNetStd);
  const Preprocess ultralytics =
      letterboxed(Preprocess::Align::center, Preprocess::Color::rgb, kPixels);
  const Preprocess keras = with(Fit::stretch, 127.5f, {1});
  return {
      {"torchvision", "shorter side, middle, /255, mean and std of ImageNet", torchvision},
      {"timm", "as torchvision, which most models of timm follow", torchvision},
      {"timm-inception", "shorter side, middle, /255, mean and std 0.5",
       with(Fit::crop, kPixels, {0.5f}, {0.5f})},
      {"clip", "shorter side, middle, /255, mean and std of CLIP",
       [] {
         Preprocess clip = with(Fit::crop, kPixels, {0.48145466f, 0.4578275f, 0.40821073f},
                                {0.26862954f, 0.26130258f, 0.27577711f});
         clip.crop_share = 1;
         return clip;
       }()},
      {"ultralytics", "letterbox in the middle, fill 114, /255", ultralytics},
      {"yolo", "as ultralytics", ultralytics},
      {"yolox", "letterbox at the top left, fill 114, BGR from 0 to 255",
       letterboxed(Preprocess::Align::corner, Preprocess::Color::bgr, 1)},
      {"keras", "the model's size, /127.5 - 1 (MobileNet, Inception, Xception of Keras)", keras},
      {"tf", "as keras", keras},
      {"caffe", "shorter side, middle, BGR less the means 103.939, 116.779, 123.68",
       bgr(with(Fit::crop, 1, {103.939f, 116.779f, 123.68f}))},
      {"unit", "the model's size, /255", with(Fit::stretch, kPixels)},
      {"pixels", "the model's size, from 0 to 255", with(Fit::stretch, 1)},
  };
}

std::string list_of(const std::vector<f32>& values) {
  std::string text;
  for (const f32 value : values) text += fmt::format(" {}", value);
  return text;
}

std::string geometry_of(const Preprocess& p) {
  const auto padding = [&] {
    return fmt::format("({}, fill {})", align_name(p.letterbox_align), p.letterbox_fill);
  };
  std::string text;
  const auto add = [&](const std::string& step) { text += step + ", "; };
  if (p.orientation == Preprocess::Orientation::stored) add("not turned");
  if (p.resize_short > 0) add(fmt::format("shorter side {}", p.resize_short));
  if (p.resize) add("resize " + to_text(*p.resize));
  if (p.letterbox) add(fmt::format("letterbox {} {}", to_text(*p.letterbox), padding()));
  if (p.crop) add("crop " + to_text(*p.crop));
  if (p.fit == Fit::stretch) add("resize to the input");
  if (p.fit == Fit::crop) add(fmt::format("crop {} of the shorter side", p.crop_share));
  if (p.fit == Fit::letterbox) add("letterbox of the input's size " + padding());
  return text + std::string(color_name(p.color)) + ", ";
}

}  // namespace

const std::vector<PreprocessPreset>& preprocess_presets() {
  static const std::vector<PreprocessPreset> presets = make_presets();
  return presets;
}

const PreprocessPreset* find_preprocess_preset(std::string_view name) {
  const auto& presets = preprocess_presets();
  const auto at = std::ranges::find(presets, name, &PreprocessPreset::name);
  return at == presets.end() ? nullptr : &*at;
}

std::string preset_names() {
  std::string names;
  for (const PreprocessPreset& preset : preprocess_presets())
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

std::string describe(const Preprocess& p, bool numbers_only) {
  std::string text = numbers_only ? "" : geometry_of(p);
  text += p.scale == 1 ? "pixels 0 to 255" : fmt::format("/{}", p.scale);
  if (numbers_only && p.scale == 1) text = "not scaled";
  if (!p.mean.empty()) text += ", mean" + list_of(p.mean);
  if (!p.std.empty()) text += ", std" + list_of(p.std);
  if (p.layout != "nchw") text += ", " + p.layout;
  return text;
}

}  // namespace octet
