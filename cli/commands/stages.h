// SPDX-License-Identifier: Apache-2.0
// One model in FP32, FP16, BF16 and INT8: built, timed, and held against FP32 on the same samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/flags/data_flags.h"
#include "cli/output/progress.h"
#include "cli/samples/eval_counts.h"
#include "cli/samples/nan_watch.h"
#include "octet/inspect.h"
#include "octet/report.h"
#include "octet/source_model.h"

namespace octet::cli {

struct StageFlags {
  std::filesystem::path model;
  CompileOptions compile;  // of INT8; the others are made of it
  DataOptions data;        // to judge by
  int64_t label_offset = 0;
  std::string scores;
  double seconds = 1;  // of timing, for each
};

struct Stage {
  std::string name;     // "FP16"
  std::string missing;  // why there is none; empty: there is
  std::shared_ptr<const Engine> engine;
  CompileReport report;
  Inspection inspection;
  double build_seconds = 0;
  double latency_ms = 0;  // median
  uint64_t bytes = 0;     // of the engine file
  std::unique_ptr<Counts> counts;
  NanReport nan;                          // of its runs
  std::vector<OutputComparison> outputs;  // beside FP32; of the last stage that there is
};

// What all of them are built from.
SourceModel stage_source(const StageFlags& flags, ProgressBar& progress);

// In the order FP32, FP16, BF16, INT8. INT8 is missing where there is nothing to calibrate with.
std::vector<Stage> run_stages(const SourceModel& source, const StageFlags& flags,
                              ProgressBar& progress);

// Rows for the page and for people: one for each stage.
std::vector<StageRow> stage_rows(const std::vector<Stage>& stages);

}  // namespace octet::cli
