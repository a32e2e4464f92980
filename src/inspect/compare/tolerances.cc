// SPDX-License-Identifier: Apache-2.0
#include "octet/tolerances.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>

#include "core/check.h"
#include "core/types.h"
#include "octet/closest.h"

namespace octet {
namespace {

constexpr size_t kMostTexts = 10'000;
constexpr size_t kMostShownTexts = 20;
constexpr size_t kMostShownBytes = 120;

// In the order of ErrorStatistic.
constexpr std::array<std::string_view, 5> kStatistics = {"elemwise", "max", "mean", "median",
                                                         "quantile"};

// Puts the value into a tolerance, or says what is wrong with it.
using SetTolerance = std::string (*)(std::string_view value, Tolerance& tolerance);

std::optional<f64> number_of(std::string_view text) {
  f64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string set_limit(std::string_view text, f64& limit) {
  const std::optional<f64> value = number_of(text);
  if (!value || !std::isfinite(*value) || *value < 0) return "no finite number from 0";
  limit = *value;
  return {};
}

std::string set_absolute(std::string_view text, Tolerance& tolerance) {
  return set_limit(text, tolerance.absolute);
}

std::string set_relative(std::string_view text, Tolerance& tolerance) {
  return set_limit(text, tolerance.relative);
}

std::string set_quantile(std::string_view text, Tolerance& tolerance) {
  const std::optional<f64> value = number_of(text);
  if (!value || !(*value >= 0 && *value <= 1)) return "no number from 0 to 1";
  tolerance.quantile = *value;
  return {};
}

std::string set_statistic(std::string_view text, Tolerance& tolerance) {
  const auto found = std::ranges::find(kStatistics, text);
  if (found == kStatistics.end())
    return fmt::format("no statistic; these are {}", fmt::join(kStatistics, ", "));
  tolerance.statistic = static_cast<ErrorStatistic>(found - kStatistics.begin());
  return {};
}

class Parser {
 public:
  explicit Parser(std::span<const std::string> outputs)
      : outputs_(outputs), tolerances_(outputs.size()) {}

  // Those of all outputs first: a name counts more.
  void take(const char* what, const std::vector<std::string>& texts, SetTolerance set) {
    if (texts.size() > kMostTexts)
      fail(Error::Code::invalid_argument, "more than {} of {}", kMostTexts, what);
    for (const bool named : {false, true}) {
      for (const std::string& text : texts) {
        if ((name_end(text) > 0) == named) take_one(what, text, set);
      }
    }
  }

  std::vector<Tolerance> result() {
    if (wrong_.empty()) return std::move(tolerances_);
    const size_t count = wrong_.size();
    wrong_.resize(std::min(count, kMostShownTexts));
    fail(Error::Code::invalid_argument, "{} of the tolerances {} wrong:\n  {}{}", count,
         count == 1 ? "is" : "are", fmt::join(wrong_, "\n  "),
         count > kMostShownTexts ? fmt::format("\n  and {} more", count - kMostShownTexts) : "");
  }

 private:
  // Where the name ends; 0 where there is none.
  static size_t name_end(const std::string& text) {
    const size_t colon = text.rfind(':');
    return colon == text.npos ? 0 : colon;
  }

  void take_one(const char* what, const std::string& text, SetTolerance set) {
    const size_t end = name_end(text);
    const size_t colon = text.rfind(':');
    const std::string value = colon == text.npos ? text : text.substr(colon + 1);
    Tolerance ignored;
    if (const std::string problem = set(value, ignored); !problem.empty())
      add_wrong(what, text, fmt::format("'{}' is {}", value.substr(0, kMostShownBytes), problem));
    if (end == 0) {
      for (Tolerance& tolerance : tolerances_) set(value, tolerance);
      return;
    }
    const std::string name = text.substr(0, end);
    const auto at = std::ranges::find(outputs_, name);
    if (at != outputs_.end()) {
      set(value, tolerances_[static_cast<size_t>(at - outputs_.begin())]);
      return;
    }
    add_wrong(what, text,
              fmt::format("no such output; the outputs are {}{}", fmt::join(outputs_, ", "),
                          did_you_mean(name, outputs_)));
  }

  void add_wrong(const char* what, const std::string& text, const std::string& problem) {
    wrong_.push_back(fmt::format("{} {}: {}", what, text.substr(0, kMostShownBytes), problem));
  }

  std::span<const std::string> outputs_;
  std::vector<Tolerance> tolerances_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::string_view to_string(ErrorStatistic statistic) {
  return kStatistics[static_cast<size_t>(statistic)];
}

std::vector<Tolerance> parse_tolerances(const ToleranceTexts& texts,
                                        std::span<const std::string> outputs) {
  Parser parser(outputs);
  parser.take("absolute tolerance", texts.absolute, set_absolute);
  parser.take("relative tolerance", texts.relative, set_relative);
  parser.take("statistic", texts.statistics, set_statistic);
  parser.take("quantile", texts.quantiles, set_quantile);
  return parser.result();
}

}  // namespace octet
