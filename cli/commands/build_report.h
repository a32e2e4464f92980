// SPDX-License-Identifier: Apache-2.0
// build --report: gathers what the HTML page shows, the error of each layer included, and writes it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/outputs.h"
#include "cli/output/progress.h"
#include "octet/inspect.h"
#include "octet/source_model.h"

namespace octet::cli {

struct BuildReport {
  const Output& file;
  std::filesystem::path model;
  const SourceModel& source;  // of the engine
  const Engine& engine;
  const CompileOptions& options;
  const CompileReport& report;
  const Inspection& inspection;
  std::span<const StageRow> stages = {};
  std::span<const OutputComparison> outputs = {};              // beside FP32
  std::span<const std::string> not_finite = {};                // where NaN and infinities come from
  std::vector<std::pair<std::string, std::string>> more = {};  // lines of the summary
};

void write_build_report(const BuildReport& build, ProgressBar& progress);

}  // namespace octet::cli
