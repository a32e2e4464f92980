// SPDX-License-Identifier: Apache-2.0
// What octet build is told, and what it says of what it built.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/flags/calibration_flags.h"
#include "cli/flags/constraint_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/favor_flag.h"
#include "cli/flags/half_flags.h"
#include "cli/flags/search_flags.h"
#include "cli/flags/thresholds.h"
#include "cli/output/outputs.h"
#include "octet/compile.h"
#include "octet/inspect.h"

namespace octet::cli {

struct BuildOptions {
  std::filesystem::path model;
  bool reproducible = false;
  Outputs outputs;
  Output* output = nullptr;
  Output* report = nullptr;
  CalibrationFlags calibration;
  ConstraintFlags constraints;
  HalfFlags halves;
  FavorFlag favor;
  SearchFlags search;
  CompileOptions compile;
  std::vector<std::string> shapes;
  LimitFlags limits;
  int threads = 0;  // 0: what the process may use
  bool json = false;
};

// With a threshold the engine is looked at before it is written: one that misses it is not.
struct Judged {
  Inspection inspection;
  std::vector<Threshold> thresholds;
  bool written() const { return std::ranges::all_of(thresholds, &Threshold::passed); }
};

struct Built {
  const Engine& engine;
  const CompileReport& report;
  const Judged& judged;
  double seconds;
  std::string level;             // of the kernels that calibration ran on
  const Found* found = nullptr;  // null: nothing was searched
  const Inspection& inspection = judged.inspection;
};

void print_summary(const BuildOptions& options, const Built& built);
void print_summary_json(const BuildOptions& options, const Built& built);
// Passes, warnings and skipped files, on standard error.
void print_notes(const CompileReport& report);

}  // namespace octet::cli
