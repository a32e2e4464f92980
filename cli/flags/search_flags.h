// SPDX-License-Identifier: Apache-2.0
// octet build's search: its flags, the samples that it is judged on, and what it says.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/calibration_flags.h"
#include "cli/flags/thresholds.h"
#include "cli/output/outputs.h"
#include "cli/output/progress.h"
#include "cli/samples/search_metrics.h"
#include "octet/search.h"

namespace octet::cli {

struct SearchFlags {
  std::optional<double> max_drop, min_metric, max_latency, max_size;
  MetricFlags metric;
  std::filesystem::path data;
  int64_t samples = 0;  // 0: all
  int effort = 2;
  Output* journal = nullptr;

  bool asked() const { return max_drop || min_metric || max_latency || max_size; }
};

void add_search_flags(CLI::App& app, Outputs& outputs, SearchFlags& flags);
// Throws Error(invalid_argument) for flags that have no use beside the others.
void check_search_flags(const CLI::App& app, const SearchFlags& flags, bool int8);

struct SearchCall {
  const std::filesystem::path& model;
  const CompileOptions& compile;
  const CalibrationFlags& calibration;
  bool reproducible = false;  // calibrates on the scalar reference
  ProgressBar& progress;
};

struct Found {
  SourceModel source;
  Engine engine;
  SearchResult result;
  std::string samples;  // in words: what was calibrated, searched and verified on
  std::string flags;    // of octet build, that make the same engine of the same calibration
};

// Searches, and builds what it found. The report gets that build's.
Found search_and_build(const SearchFlags& flags, const SearchCall& call, CompileReport& report);

std::vector<Threshold> judge_search(const SearchFlags& flags, const SearchResult& result);
void print_search(const SearchFlags& flags, const Found& found);
nlohmann::ordered_json search_json(const SearchFlags& flags, const Found& found);
// One line for each trial of the front: for the page.
std::vector<std::pair<std::string, std::string>> front_lines(const SearchFlags& flags,
                                                             const SearchResult& result);

}  // namespace octet::cli
