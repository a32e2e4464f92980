// SPDX-License-Identifier: Apache-2.0
// Boxes of object detectors: decoded from raw outputs as a small description says, and held against labels or other boxes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/engine.h"
#include "octet/preprocess.h"
#include "octet/tensor.h"

namespace octet {

struct DetectedBox {
  double left = 0, top = 0, right = 0, bottom = 0;  // in pixels of the network's input
  double score = 0;
  int label = 0;
};

// How a detector's outputs become boxes: docs/detectors.md has the description.
class Detector {
 public:
  // A JSON file, or one of the names of detector_presets(). Throws Error(invalid_argument) for anything else.
  static Detector read(const std::string& name_or_file);
  static Detector from_json(std::string_view text, const std::string& file);

  // Of one sample, the best first, without those that a better one of their class overlaps. Throws Error(invalid_argument) where an output is
  // missing or has no such shape. `width`, `height`: of the network's input.
  std::vector<DetectedBox> boxes(std::span<const TensorInfo> infos, std::span<const Tensor> outputs,
                                 int64_t width, int64_t height) const;
  // The same with another least score, for measures that go over all scores.
  Detector with_least_score(double score) const;
  // Where an image lies in an input tensor: nothing for one that holds no image.
  static std::optional<Preprocess::Size> image_size(const Tensor& input);

  struct Impl;  // Octet's own

 private:
  explicit Detector(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

std::vector<std::string> detector_presets();

struct TrueBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  int label = 0;
  bool crowd = false;  // many objects in one box: what is found there is neither right nor wrong
};

// Labels of images in COCO's format. Classes are numbered from 0 in the order of the categories' ids.
class CocoLabels {
 public:
  // Throws Error(invalid_argument) for what is no such file, with what is wrong.
  static CocoLabels read(const std::filesystem::path& file);

  size_t images() const { return images_.size(); }
  // Of the image that shares the longest end of its path with `sample`, the file name at least, in pixels of the network's input, where
  // `preprocess` put the image there. Nothing for one that the file does not have. Throws Error(unsupported) for a crop,
  // Error(invalid_argument) where several images share the same end.
  std::optional<std::vector<TrueBox>> boxes(const std::string& sample, const Preprocess& preprocess,
                                            const Preprocess::Size& input) const;

 private:
  struct Image {
    double width = 0, height = 0;
    std::vector<TrueBox> boxes;  // of the image's own pixels
  };
  const Image* find(const std::string& sample) const;
  std::map<std::string, Image> images_;
};

struct MeanPrecision {
  double map = 0;     // mean over overlaps of .5 to .95 and over the classes that the labels have
  double map50 = 0;   // at an overlap of .5
  int64_t boxes = 0;  // of the labels, those of crowds apart
};

// As COCO's evaluation has it: the 100 best of each image and class, 101 recalls, all sizes. `found` has the best first.
MeanPrecision mean_precision(std::span<const std::vector<DetectedBox>> found,
                             std::span<const std::vector<TrueBox>> truth);

// Twice the pairs over the boxes of both: of the same class, with at least such an overlap, the best pairs first, each box in one. 1 where there
// are no boxes.
double same_boxes(std::span<const std::vector<DetectedBox>> one,
                  std::span<const std::vector<DetectedBox>> other, double overlap = 0.9);

}  // namespace octet
