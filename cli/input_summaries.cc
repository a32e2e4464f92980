// SPDX-License-Identifier: Apache-2.0
#include "cli/input_summaries.h"

#include <fmt/format.h>

#include <span>

namespace octet::cli {
namespace {

std::string numbers(std::span<const double> values) {
  std::string text;
  for (const double value : values) text += fmt::format(" {:.4g}", value);
  return text;
}

}  // namespace

std::string summary_text(const InputSummary& summary) {
  return fmt::format("{:.4g} to {:.4g}, mean{}, deviation{}", summary.min, summary.max,
                     numbers(summary.mean), numbers(summary.deviation));
}

nlohmann::ordered_json summary_json(const InputSummary& summary) {
  return {{"input", summary.input},
          {"samples", summary.samples},
          {"min", summary.min},
          {"max", summary.max},
          {"mean", summary.mean},
          {"deviation", summary.deviation},
          {"constant_samples", summary.constant}};
}

}  // namespace octet::cli
