// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page about a build: summary, layers with precision and reason, error per layer, and the histogram
// with threshold of every calibrated tensor. It loads nothing from anywhere; names from the model are escaped.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/compile.h"
#include "octet/inspect.h"
#include "octet/output_comparison.h"
#include "octet/profile.h"

namespace octet {

// One type of a staged report: the model in it, held against FP32.
struct StageRow {
  std::string name = {};     // "FP16"
  std::string missing = {};  // why there is none; empty: there is
  int64_t samples = 0;       // that it was judged by
  std::optional<double> top1 = {}, agreement = {}, sqnr_db = {};  // absent: not measured
  double latency_ms = 0;                                          // median of one run
  int64_t bytes = 0;                                              // of the engine file
  Coverage coverage = {};
  double build_seconds = 0;
};

struct ReportInput {
  std::string title;
  std::vector<std::pair<std::string, std::string>>
      summary;  // "calibration" -> "500 samples, entropy"
  const Inspection& inspection;
  std::span<const Range> ranges;
  std::span<const ValueError> errors;  // may be empty
  std::span<const LayerTime> times = {};
  std::span<const StageRow> stages = {};
  // The model's outputs beside those of `against`: "resnet20.onnx in FP32".
  std::span<const OutputComparison> outputs = {};
  std::string against = {};
};

std::string html_report(const ReportInput& input);
// Under a temporary name, then renamed; throws Error(io).
void save_report(const ReportInput& input, const std::filesystem::path& path);

}  // namespace octet
