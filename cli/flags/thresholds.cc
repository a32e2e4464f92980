// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/thresholds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/command.h"
#include "cli/output/messages.h"

namespace octet::cli {
namespace {

bool all_passed(const std::vector<Threshold>& judged) {
  return std::ranges::all_of(judged, &Threshold::passed);
}

}  // namespace

Threshold at_least(std::string name, std::string what, double value, double limit) {
  return {std::move(name), std::move(what), value, limit, value >= limit, true};
}

Threshold at_most(std::string name, std::string what, double value, double limit) {
  return {std::move(name), std::move(what), value, limit, value <= limit, false};
}

void add_thresholds(nlohmann::ordered_json& object, const std::vector<Threshold>& judged) {
  if (judged.empty()) return;
  auto list = nlohmann::ordered_json::array();
  for (const Threshold& one : judged) {
    // JSON has no infinity: the SQNR of equal outputs is null, as everywhere.
    const auto value = std::isfinite(one.value) ? nlohmann::ordered_json(one.value)
                                                : nlohmann::ordered_json(nullptr);
    list.push_back(
        {{"name", one.name}, {"value", value}, {"limit", one.limit}, {"passed", one.passed}});
  }
  object["passed"] = all_passed(judged);
  object["thresholds"] = std::move(list);
}

int exit_code(const std::vector<Threshold>& judged) {
  for (const Threshold& one : judged) {
    if (one.passed) continue;
    message(fmt::format("failed: {} is {:.6g}, {} than {}", one.what, one.value,
                        one.least ? "less" : "more", one.limit));
  }
  return all_passed(judged) ? kDone : kThresholdFailed;
}

}  // namespace octet::cli
