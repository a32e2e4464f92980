// SPDX-License-Identifier: Apache-2.0
// Boxes of object detectors, as eval and the search of build judge them.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/samples/samples.h"
#include "octet/detection.h"

namespace octet::cli {

struct DetectionFlags {
  std::string detector;         // a preset or a file
  std::filesystem::path boxes;  // labels
};

void add_detection_flags(CLI::App& app, DetectionFlags& flags, const char* group);

// What decodes boxes, and where labels lie in the network's input.
class BoxReader {
 public:
  BoxReader(const DetectionFlags& flags, std::vector<TensorInfo> outputs,
            std::optional<Preprocess> preprocess);

  bool has_labels() const { return labels_.has_value(); }
  std::vector<DetectedBox> boxes(const LoadedSample& sample, std::span<const Tensor> outputs) const;
  // Down to scores that count in a mean over all of them.
  std::vector<DetectedBox> all_boxes(const LoadedSample& sample,
                                     std::span<const Tensor> outputs) const;
  std::vector<TrueBox> truth(const LoadedSample& sample) const;

 private:
  Preprocess::Size size_of(const LoadedSample& sample) const;

  Detector detector_, unsure_;
  std::vector<TensorInfo> outputs_;
  Preprocess preprocess_;
  std::optional<CocoLabels> labels_;
};

// Of the samples of an eval.
class BoxCounts {
 public:
  explicit BoxCounts(BoxReader reader) : reader_(std::move(reader)) {}
  void add(const LoadedSample& sample, std::span<const Tensor> tested,
           const std::vector<Tensor>* reference);
  void print() const;
  nlohmann::ordered_json json() const;

 private:
  struct Side {
    std::vector<std::vector<DetectedBox>> sure, all;
  };
  BoxReader reader_;
  Side tested_, reference_;
  std::vector<std::vector<TrueBox>> truth_;
};

}  // namespace octet::cli
