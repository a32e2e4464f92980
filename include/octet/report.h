// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page about a build: summary, layers with precision and reason, error per layer, and the histogram
// with threshold of every calibrated tensor. It loads nothing from anywhere; names from the model are escaped.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/compile.h"
#include "octet/inspect.h"

namespace octet {

struct ReportInput {
  std::string title;
  std::vector<std::pair<std::string, std::string>>
      summary;  // "calibration" -> "500 samples, entropy"
  const Inspection& inspection;
  std::span<const Range> ranges;
  std::span<const ValueError> errors;  // may be empty
};

std::string html_report(const ReportInput& input);
// Under a temporary name, then renamed; throws Error(io).
void save_report(const ReportInput& input, const std::filesystem::path& path);

}  // namespace octet
