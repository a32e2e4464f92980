// SPDX-License-Identifier: Apache-2.0
// Flags about the types of layers: --precision, --output-type, --constraints, --min-coverage; and how requests are shown beside results.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/thresholds.h"
#include "octet/constraints.h"
#include "octet/inspect.h"

namespace octet::cli {

struct ConstraintFlags {
  std::vector<std::string> precisions, outputs;  // "PATTERN:TYPE,..."
  ConstraintMode mode = ConstraintMode::prefer;
  std::optional<double> min_coverage;       // per cent
  std::optional<double> min_time_coverage;  // per cent
};

void add_constraint_flags(CLI::App& app, ConstraintFlags& flags);

// Throws Error(invalid_argument) that lists every entry that is wrong.
std::vector<PrecisionConstraint> constraints_of(const ConstraintFlags& flags);

// --min-time-coverage, where layers are timed.
void add_time_gate(CLI::App& app, ConstraintFlags& flags);

// Of --min-coverage and --min-time-coverage; empty without them.
std::vector<Threshold> judge_coverage(const ConstraintFlags& flags, const Coverage& coverage);

// ONNX nodes, what was asked of them and what they got: those of which something was asked, or `all`. Prints nothing where there is none.
void print_nodes(const Inspection& inspection, bool all);

}  // namespace octet::cli
