// SPDX-License-Identifier: Apache-2.0
// The flags of `octet build` that say where the ranges of INT8 tensors come from: data, a cache, or the user's hand.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/data_flags.h"
#include "cli/output/outputs.h"
#include "octet/compile.h"
#include "octet/inspect.h"

namespace octet::cli {

struct CalibrationFlags {
  DataFlags data;
  std::vector<std::string> methods;  // "METHOD" or "PATTERN=METHOD"
  Output* cache = nullptr;           // read where it exists, else made
  std::string cache_header;
  bool force_cache = false;
  bool constant_data = false;
  std::string equalize = "on";
  std::filesystem::path ranges;
  std::string device = "cpu";
};

void add_calibration_flags(CLI::App& app, Outputs& outputs, CalibrationFlags& flags);

// Nothing where no flag asks for calibration. A cache that exists is read in place of the data; one that does not will be made.
std::optional<CalibrationOptions> calibration_options(const CalibrationFlags& flags);

// Writes the cache that a build made, where it was asked for. A folder that cannot be written to is a warning: the engine is built.
void save_cache(const CalibrationFlags& flags, const CompileReport& report);

// "entropy", or all methods that chose a range.
std::string methods_of(const CompileReport& report);

// Tensors without a range, with what they cost, after the line that TensorRT's users know.
void print_missing_ranges(const CompileReport& report, const Inspection& inspection);
nlohmann::ordered_json missing_ranges_json(const CompileReport& report,
                                           const Inspection& inspection);

}  // namespace octet::cli
