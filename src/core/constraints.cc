// SPDX-License-Identifier: Apache-2.0
// Constraints as texts: "PATTERN:TYPE,...".
#include "octet/constraints.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "octet/closest.h"

namespace octet {
namespace {

constexpr size_t kMostEntries = 10'000;
constexpr size_t kLongestEntry = 4096;
constexpr size_t kMostShown = 20;

// The first name of a type is ours.
constexpr std::pair<std::string_view, Precision> kTypes[] = {
    {"int8", Precision::int8},   {"s8", Precision::int8},     {"f32", Precision::f32},
    {"float32", Precision::f32}, {"fp32", Precision::f32},    {"float", Precision::f32},
    {"f16", Precision::f16},     {"float16", Precision::f16}, {"fp16", Precision::f16},
    {"half", Precision::f16},    {"bf16", Precision::bf16},   {"bfloat16", Precision::bf16},
};
constexpr std::string_view kOurNames = "int8, f32, f16, bf16";

constexpr std::pair<std::string_view, ConstraintMode> kModes[] = {
    {"prefer", ConstraintMode::prefer},
    {"obey", ConstraintMode::obey},
    {"none", ConstraintMode::none},
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<Precision> type_named(std::string_view name) {
  for (const auto& [known, precision] : kTypes) {
    if (known == name) return precision;
  }
  return std::nullopt;
}

std::string wrong_type(std::string_view entry, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& type : kTypes) known.emplace_back(type.first);
  return fmt::format("'{}': '{}' is no type of layers{}", entry, name, did_you_mean(name, known));
}

// Adds the constraint, or what is wrong with the entry.
void parse_entry(std::string_view entry, bool output, std::vector<PrecisionConstraint>& list,
                 std::vector<std::string>& wrong) {
  const std::string_view shown = entry.substr(0, 120);
  if (entry.size() > kLongestEntry) {
    wrong.push_back(
        fmt::format("'{}...' has {} bytes, {} are allowed", shown, entry.size(), kLongestEntry));
    return;
  }
  const size_t colon = entry.rfind(':');
  const std::string_view name = trimmed(entry.substr(0, std::min(colon, entry.size())));
  if (colon == std::string_view::npos || name.empty()) {
    wrong.push_back(fmt::format("'{}' is no PATTERN:TYPE", shown));
    return;
  }
  const std::string_view type = trimmed(entry.substr(colon + 1));
  if (const auto precision = type_named(type)) {
    list.push_back({std::string(name), *precision, output});
  } else {
    wrong.push_back(wrong_type(shown, type.substr(0, 40)));
  }
}

}  // namespace

std::string_view to_string(ConstraintMode mode) { return kModes[static_cast<size_t>(mode)].first; }

std::optional<ConstraintMode> constraint_mode_from(std::string_view name) {
  for (const auto& [known, mode] : kModes) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

std::string to_string(const PrecisionConstraint& constraint) {
  return fmt::format("{}:{}", constraint.pattern, to_string(constraint.precision));
}

std::vector<PrecisionConstraint> parse_constraints(std::string_view text, bool output) {
  std::vector<PrecisionConstraint> list;
  std::vector<std::string> wrong;
  size_t entries = 0;
  for (size_t at = 0; at <= text.size(); ++entries) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (entries == kMostEntries) {
      fail(Error::Code::invalid_argument, "more than {} precision constraints", kMostEntries);
    }
    parse_entry(trimmed(text.substr(at, end - at)), output, list, wrong);
    at = end + 1;
  }
  if (wrong.empty()) return list;
  const size_t count = wrong.size();
  wrong.resize(std::min(count, kMostShown));
  fail(Error::Code::invalid_argument,
       "{} of {} precision constraints {} wrong; expected PATTERN:TYPE, with a type of {}:\n  {}{}",
       count, entries, count == 1 ? "is" : "are", kOurNames, fmt::join(wrong, "\n  "),
       count > kMostShown ? fmt::format("\n  and {} more", count - kMostShown) : "");
}

bool NodePrecision::violated() const {
  const auto differs = [](Precision asked, Precision got) {
    return asked != Precision::none && got != Precision::none && asked != got;
  };
  return differs(requested, resolved) || differs(requested_output, resolved_output);
}

}  // namespace octet
