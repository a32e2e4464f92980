// SPDX-License-Identifier: Apache-2.0
// What octet build's search measures outputs by.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/detection_flags.h"
#include "cli/samples/samples.h"
#include "octet/search.h"

namespace octet::cli {

struct MetricFlags {
  std::string metric = "top1";  // or "command:PROGRAM ARGUMENTS"
  LabelRule labels = LabelRule::folder;
  int64_t label_offset = 0;
  std::string scores;
  double peak = 1;
  int seconds = 600;
  DetectionFlags detection;
};

void add_metric_flags(CLI::App& app, MetricFlags& flags);

// How a value is said, and what a drop of it is counted in.
struct MetricUnit {
  double points = 1;      // of a drop, for one of the value
  bool is_share = false;  // 0 to 1
  bool is_decibels = false;
  bool against_float = false;  // FP32 has the best value that there is
};
MetricUnit unit_of(const MetricFlags& flags);
std::string text_of(const MetricUnit& unit, double value);

// Of samples that stay where they are. Throws Error(invalid_argument) where the engine's outputs or the data have no such value.
SearchMetric search_metric(const MetricFlags& flags, const Engine& engine,
                           const std::vector<LoadedSample>& samples);

}  // namespace octet::cli
