// SPDX-License-Identifier: Apache-2.0
// How an image becomes an input tensor: what an engine remembers of its calibration, and what octet/data.h applies.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace octet {

// Image -> one input tensor. Steps run in the order of the members. Defaults leave an image as decoded.
struct Preprocess {
  // Cameras store pixels as the sensor lies, and say beside them (EXIF) how to turn the image: then `exif` turns it, and `stored`
  // takes the pixels as they lie in the file.
  enum class Orientation { exif, stored };
  enum class Color { rgb, bgr, gray };
  struct Size {
    int width = 0;
    int height = 0;
    bool operator==(const Size&) const = default;
  };

  Orientation orientation = Orientation::exif;
  Color color = Color::rgb;
  int resize_short = 0;           // scale so that the shorter side has this length; 0: off
  std::optional<Size> resize;     // scale to exactly this size
  std::optional<Size> letterbox;  // scale to fit inside, pad right and bottom
  float letterbox_fill = 114.0f;  // pixel value of the padding
  std::optional<Size> crop;       // centre crop
  float scale = 1.0f;             // x / scale
  std::vector<float> mean;        // then - mean, one value or one for each channel
  std::vector<float> std;         // then / std
  std::string layout = "nchw";    // or "nhwc"

  bool operator==(const Preprocess&) const = default;
};

// A JSON object whose keys are the members' names, e.g. {"resize": "256", "crop": "224x224", "color": "rgb", "scale": 255,
// "mean": [..], "std": [..], "letterbox": "416x416:114"}. Unknown keys are errors.
Preprocess preprocess_from_json(const std::string& text, const std::string& file_name);
std::string to_json(const Preprocess& preprocess);

}  // namespace octet
