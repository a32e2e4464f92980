// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/detection_flags.h"

#include <fmt/format.h>

#include <utility>

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/output/terminal.h"

namespace octet::cli {
namespace {

constexpr double kUnsure = 0.01;  // the least score in a mean over all of them

size_t boxes_in(const std::vector<std::vector<DetectedBox>>& samples) {
  size_t count = 0;
  for (const auto& boxes : samples) count += boxes.size();
  return count;
}

}  // namespace

void add_detection_flags(CLI::App& app, DetectionFlags& flags, const char* group) {
  app.add_option(
         "--detector", flags.detector,
         fmt::format("how outputs become boxes: {}, or a description", joined(detector_presets())))
      ->type_name("NAME|FILE.json")
      ->group(group);
  app.add_option("--boxes", flags.boxes, "the boxes of the images, labels in COCO's format")
      ->type_name("FILE.json")
      ->group(group);
}

BoxReader::BoxReader(const DetectionFlags& flags, std::vector<TensorInfo> outputs,
                     std::optional<Preprocess> preprocess)
    : detector_(Detector::read(flags.detector)),
      unsure_(detector_.with_least_score(kUnsure)),
      outputs_(std::move(outputs)),
      preprocess_(preprocess.value_or(Preprocess())) {
  if (!flags.boxes.empty()) labels_ = CocoLabels::read(flags.boxes);
}

Preprocess::Size BoxReader::size_of(const LoadedSample& sample) const {
  const auto size = sample.inputs.empty() ? std::nullopt : Detector::image_size(sample.inputs[0]);
  if (size) return *size;
  fail(Error::Code::invalid_argument, "--detector: the model's first input is no image");
}

std::vector<DetectedBox> BoxReader::boxes(const LoadedSample& sample,
                                          std::span<const Tensor> outputs) const {
  const Preprocess::Size size = size_of(sample);
  return detector_.boxes(outputs_, outputs, size.width, size.height);
}

std::vector<DetectedBox> BoxReader::all_boxes(const LoadedSample& sample,
                                              std::span<const Tensor> outputs) const {
  const Preprocess::Size size = size_of(sample);
  return unsure_.boxes(outputs_, outputs, size.width, size.height);
}

std::vector<TrueBox> BoxReader::truth(const LoadedSample& sample) const {
  auto boxes = labels_->boxes(sample.name, preprocess_, size_of(sample));
  if (boxes) return *std::move(boxes);
  fail(Error::Code::invalid_argument, "--boxes: the labels have no image '{}'", sample.name);
}

void BoxCounts::add(const LoadedSample& sample, std::span<const Tensor> tested,
                    const std::vector<Tensor>* reference) {
  const auto add_to = [&](Side& side, std::span<const Tensor> outputs) {
    side.sure.push_back(reader_.boxes(sample, outputs));
    if (reader_.has_labels()) side.all.push_back(reader_.all_boxes(sample, outputs));
  };
  add_to(tested_, tested);
  if (reference != nullptr) add_to(reference_, *reference);
  if (reader_.has_labels()) truth_.push_back(reader_.truth(sample));
}

void BoxCounts::print() const {
  fmt::print("boxes      {} found", boxes_in(tested_.sure));
  if (!reference_.sure.empty()) {
    fmt::print(", {} by the reference; {} the same at an overlap of .9, {} at .5",
               boxes_in(reference_.sure), percent(same_boxes(reference_.sure, tested_.sure)),
               percent(same_boxes(reference_.sure, tested_.sure, 0.5)));
  }
  fmt::print("\n");
  if (!reader_.has_labels()) return;
  const MeanPrecision tested = mean_precision(tested_.all, truth_);
  fmt::print("mAP        {:.4f}, at an overlap of .5 {:.4f}   of {} boxes\n", tested.map,
             tested.map50, tested.boxes);
  if (reference_.all.empty()) return;
  const MeanPrecision reference = mean_precision(reference_.all, truth_);
  fmt::print("reference  {:.4f}, at an overlap of .5 {:.4f}\n", reference.map, reference.map50);
}

nlohmann::ordered_json BoxCounts::json() const {
  nlohmann::ordered_json object = {{"boxes", boxes_in(tested_.sure)}};
  if (!reference_.sure.empty()) {
    object["reference_boxes"] = boxes_in(reference_.sure);
    object["same_boxes"] = same_boxes(reference_.sure, tested_.sure);
    object["same_boxes_50"] = same_boxes(reference_.sure, tested_.sure, 0.5);
  }
  if (!reader_.has_labels()) return object;
  const auto add = [&](const char* map, const char* map50, const Side& side) {
    const MeanPrecision precision = mean_precision(side.all, truth_);
    object[map] = precision.map;
    object[map50] = precision.map50;
    object["true_boxes"] = precision.boxes;
  };
  add("map", "map50", tested_);
  if (!reference_.all.empty()) add("reference_map", "reference_map50", reference_);
  return object;
}

}  // namespace octet::cli
