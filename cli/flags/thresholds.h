// SPDX-License-Identifier: Apache-2.0
// Thresholds that decide between exit codes 0 and 1: judged once, said in words and in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace octet::cli {

struct Threshold {
  std::string name;  // of the flag: "min_top1"
  std::string what;  // "top-1"
  double value = 0;
  double limit = 0;
  bool passed = false;
  bool least = true;  // the limit is the least that passes, else the most
};

// A value that is no number passes neither.
Threshold at_least(std::string name, std::string what, double value, double limit);
Threshold at_most(std::string name, std::string what, double value, double limit);

// Adds "passed" and "thresholds": [{"name", "value", "limit", "passed"}]; nothing where no threshold was asked for.
void add_thresholds(nlohmann::ordered_json& object, const std::vector<Threshold>& judged);

// kDone, or kThresholdFailed after one line on standard error for each that was missed.
int exit_code(const std::vector<Threshold>& judged);

}  // namespace octet::cli
