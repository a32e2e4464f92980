// SPDX-License-Identifier: Apache-2.0
// The description of a detector's outputs, read from JSON.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/types.h"

namespace octet {

struct DetectorOutput {
  std::string name;  // empty: by its place
  int index = 0;
};

// Numbers of each box, in the rows of one output or of several one after another.
struct DetectorField {
  std::vector<DetectorOutput> outputs;
  s64 first = 0;  // where they begin in a row
  s64 count = 0;  // 0: to its end
};

enum class BoxForm { corners, center, grid, anchors };
enum class ScoreForm { none, sigmoid, softmax };

struct DetectorForm {
  bool columns = false;  // a box is a column, as YOLOv8 has it
  DetectorField boxes, classes;
  std::optional<DetectorField> objectness;
  BoxForm box = BoxForm::corners;
  bool shares = false;  // of the input's sides; else pixels
  ScoreForm activation = ScoreForm::none;
  bool background = false;  // the first class is none
  bool root = false;        // the score is the root of class times objectness
  std::vector<s64> strides;
  std::vector<std::vector<std::pair<f64, f64>>>
      anchors;     // of each stride: width and height in pixels
  f64 offset = 0;  // of a cell's middle
  std::array<f64, 2> variances = {0.1, 0.2};
  f64 least_score = 0.25, overlap = 0.45;
  s64 most = 300;
};

struct DetectorPreset {
  const char* name;
  const char* json;
};
extern const std::array<DetectorPreset, 6> kDetectorPresets;

// Throws Error(invalid_argument) naming `file` and the field that is wrong.
DetectorForm detector_form(std::string_view text, const std::string& file);

}  // namespace octet
