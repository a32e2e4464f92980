// SPDX-License-Identifier: Apache-2.0
// How an image becomes an input tensor: what an engine remembers of its calibration, and what octet/data.h applies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

// Image -> one input tensor. Steps run in the order of the members. Defaults leave an image as decoded.
struct Preprocess {
  // Cameras store pixels as the sensor lies, and say beside them (EXIF) how to turn the image: then `exif` turns it, and `stored`
  // takes the pixels as they lie in the file.
  enum class Orientation { exif, stored };
  enum class Color { rgb, bgr, gray };
  // Where an image lies that does not fill its letterbox: at the top left, as YOLOX has it, or in the middle, as Ultralytics does.
  enum class Align { corner, center };
  // A geometry that follows from the size of the model's input: to that size, whatever it does to the image; the middle of an image
  // whose shorter side is somewhat longer; or a letterbox.
  enum class Fit { as_said, stretch, crop, letterbox };
  struct Size {
    int width = 0;
    int height = 0;
    bool operator==(const Size&) const = default;
  };

  Orientation orientation = Orientation::exif;
  Color color = Color::rgb;
  int resize_short = 0;           // scale so that the shorter side has this length; 0: off
  std::optional<Size> resize;     // scale to exactly this size
  std::optional<Size> letterbox;  // scale to fit inside, pad the rest
  float letterbox_fill = 114.0f;  // pixel value of the padding
  Align letterbox_align = Align::corner;
  std::optional<Size> crop;     // centre crop
  float scale = 1.0f;           // x / scale
  std::vector<float> mean;      // then - mean, one value or one for each channel
  std::vector<float> std;       // then / std
  std::string layout = "nchw";  // or "nhwc"
  // Replaced by the steps above, and `layout` by the input's, as soon as an input is known.
  Fit fit = Fit::as_said;
  float crop_share = 0.875f;  // Fit::crop: of the shorter side, what is left

  bool operator==(const Preprocess&) const = default;
};

// A JSON object whose keys are the members' names, e.g. {"resize": "256", "crop": "224x224", "color": "rgb", "scale": 255,
// "mean": [..], "std": [..], "letterbox": "416x416:114"}. Unknown keys are errors.
Preprocess preprocess_from_json(const std::string& text, const std::string& file_name);
std::string to_json(const Preprocess& preprocess);

// For people: "letterbox 640x640 (center, fill 114), rgb, /255". `numbers_only`: what is done to arrays, "/255, mean 0.5, std 0.25".
std::string describe(const Preprocess& preprocess, bool numbers_only = false);

// What a family of models is trained with, by its name.
struct PreprocessPreset {
  std::string_view name;
  std::string_view about;  // one line
  Preprocess preprocess;
};
const std::vector<PreprocessPreset>& preprocess_presets();
// Null where no preset has that name.
const PreprocessPreset* find_preprocess_preset(std::string_view name);

}  // namespace octet
