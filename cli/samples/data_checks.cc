// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/data_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/output/messages.h"
#include "cli/output/terminal.h"

namespace octet::cli {
namespace {

using Json = nlohmann::ordered_json;

// Entropy's ranges leave a little of the data out on purpose.
constexpr double kMuch = 0.01;

double share(const InputWatch::Clipped& entry) {
  return static_cast<double>(entry.clipped) / static_cast<double>(entry.elements);
}

}  // namespace

void say_handling(const DataHandling& handling) {
  static std::set<std::string> said;
  if (quiet() || !said.insert(handling.line()).second) return;
  message(sanitize(handling.line()));
}

Json handling_json(const DataHandling& handling) {
  return {{"data", handling.photos ? "photos" : "arrays"},
          {"preprocess", handling.applied ? parsed(to_json(*handling.applied)) : Json(nullptr)},
          {"from", handling.applied ? Json(handling.from) : Json(nullptr)},
          {"line", handling.line()}};
}

std::string flags_of(const InputDoubt& doubt) {
  const PreprocessChange& change = doubt.change;
  std::string text;
  const auto add = [&](const std::string& flag) { text += (text.empty() ? "" : " ") + flag; };
  if (change.scale) add(fmt::format("--scale {}", *change.scale));
  if (!change.mean.empty()) add(fmt::format("--mean {}", fmt::join(change.mean, ",")));
  if (!change.std.empty()) add(fmt::format("--std {}", fmt::join(change.std, ",")));
  if (change.color) {
    const bool bgr = *change.color == Preprocess::Color::bgr;
    add(bgr ? "--color bgr" : "--color rgb");
  }
  return text;
}

std::vector<std::string> DataChecks::warnings() const {
  std::vector<std::string> warnings;
  for (const InputDoubt& doubt : doubts) {
    const std::string flags = flags_of(doubt);
    warnings.push_back(doubt.text + (flags.empty() ? "" : "; try " + flags));
  }
  if (!doubts.empty()) return warnings;
  for (const InputWatch::Clipped& entry : clipped) {
    if (share(entry) <= kMuch) continue;
    warnings.push_back(
        fmt::format("input '{}': {} of the values lie beyond the calibrated range ({:.4g} to "
                    "{:.4g}) and are clipped; the data run from {:.4g} to {:.4g}",
                    entry.input, percent(share(entry)), entry.codes.min, entry.codes.max, entry.min,
                    entry.max));
  }
  return warnings;
}

Json clipped_json(const std::vector<InputWatch::Clipped>& clipped) {
  Json list = Json::array();
  for (const InputWatch::Clipped& entry : clipped) {
    list.push_back({{"input", entry.input},
                    {"elements", entry.elements},
                    {"clipped", entry.clipped},
                    {"share", share(entry)},
                    {"min", entry.min},
                    {"max", entry.max},
                    {"range", {entry.codes.min, entry.codes.max}}});
  }
  return list;
}

void add_checks(const DataChecks& checks, Json& object) {
  Json prepared = Json::array(), doubts = Json::array();
  for (const DataHandling& handling : checks.handlings) prepared.push_back(handling_json(handling));
  for (const InputDoubt& doubt : checks.doubts) {
    const std::string flags = flags_of(doubt);
    doubts.push_back({{"input", doubt.name},
                      {"cause", to_string(doubt.cause)},
                      {"text", doubt.text},
                      {"flags", flags.empty() ? Json(nullptr) : Json(flags)}});
  }
  object["prepared"] = std::move(prepared);
  object["doubts"] = std::move(doubts);
  object["clipped"] = clipped_json(checks.clipped);
}

}  // namespace octet::cli
