// SPDX-License-Identifier: Apache-2.0
// How eval and compare judge outputs beside SQNR: tolerances, top indices, values that are not finite.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <vector>

#include "cli/flags/thresholds.h"
#include "octet/engine.h"
#include "octet/output_comparison.h"

namespace octet::cli {

struct ComparisonFlags {
  ToleranceTexts tolerances;
  bool equal_infinities = false;
  int64_t top = 0;
  int64_t index_tolerance = 0;
  std::optional<double> min_top;
  bool validate = false;

  bool judges_tolerances() const;
  bool any() const;
};
void add_comparison_flags(CLI::App& app, ComparisonFlags& flags);

// Throws Error(invalid_argument) as parse_tolerances(), and for flags that need --top-k.
ComparisonOptions comparison_options(const ComparisonFlags& flags,
                                     std::span<const TensorInfo> outputs);

// That of the texts without a name, for values that are no outputs.
Tolerance general_tolerance(const ComparisonFlags& flags);

// What the flags ask for decides the exit code.
void add_judgments(const ComparisonFlags& flags, std::span<const OutputComparison> outputs,
                   std::vector<Threshold>& judged);

// Tables of errors, of what the tolerances make of them, and of what else was asked for.
void print_comparison(const ComparisonFlags& flags, std::span<const OutputComparison> outputs);
// The keys of to_json(OutputComparison) that `output` lacks.
void add_comparison(const OutputComparison& comparison, nlohmann::ordered_json& output);

}  // namespace octet::cli
