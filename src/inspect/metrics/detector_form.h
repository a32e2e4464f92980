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

enum class BoxForm { corners, center, grid, anchors, distances, bounded };
// The class that means nothing.
enum class Background { none, first, last };
enum class DetectorLayout { rows, columns, maps };
enum class ScoreForm { none, sigmoid, softmax };

struct DetectorForm {
  DetectorLayout layout = DetectorLayout::rows;
  DetectorField boxes, classes;
  std::optional<DetectorField> objectness;
  std::optional<DetectorField> labels;  // numbers of classes, where only the best has a score
  BoxForm box = BoxForm::corners;
  bool shares = false;  // of the input's sides; else pixels
  ScoreForm activation = ScoreForm::none;
  Background background = Background::none;
  std::array<f64, 2> powers = {1, 1};  // of the class and of objectness, in the score
  std::vector<s64> strides;
  s64 per_cell = 1;  // boxes of a cell, of grids and distances
  s64 bins = 1;  // numbers of a distance: one, or logarithms of how likely 0, 1, 2 ... cells are
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
extern const std::array<DetectorPreset, 10> kDetectorPresets;

// Throws Error(invalid_argument) naming `file` and the field that is wrong.
DetectorForm detector_form(std::string_view text, const std::string& file);

}  // namespace octet
