// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/input_summaries.h"

#include <fmt/format.h>

#include <span>

namespace octet::cli {
namespace {

std::string numbers(std::span<const double> values) {
  std::string text;
  for (const double value : values) text += fmt::format(" {:.4g}", value);
  return text;
}

// "1x3x224x224", or "1x3x480x480 to 1x3x640x640".
std::string sizes(const InputSummary& summary) {
  const std::string smallest = to_string(summary.smallest);
  return summary.smallest == summary.largest ? smallest
                                             : smallest + " to " + to_string(summary.largest);
}

nlohmann::ordered_json dims(const Shape& shape) {
  return std::vector<int64_t>(shape.begin(), shape.end());
}

}  // namespace

std::string summary_text(const InputSummary& summary) {
  return fmt::format("{}, {:.4g} to {:.4g}, mean{}, deviation{}", sizes(summary), summary.min,
                     summary.max, numbers(summary.mean), numbers(summary.deviation));
}

nlohmann::ordered_json summary_json(const InputSummary& summary) {
  return {{"input", summary.input},
          {"samples", summary.samples},
          {"smallest", dims(summary.smallest)},
          {"largest", dims(summary.largest)},
          {"min", summary.min},
          {"max", summary.max},
          {"mean", summary.mean},
          {"deviation", summary.deviation},
          {"constant_samples", summary.constant}};
}

}  // namespace octet::cli
