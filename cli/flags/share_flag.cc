// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/share_flag.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace octet::cli {
namespace {

std::string range_of(const ShareUnit& unit) {
  return fmt::format("{:g} to {:g}, or {:g}% to {:g}%", unit.least, unit.most,
                     unit.least / unit.whole * 100, unit.most / unit.whole * 100);
}

// What somebody writes who thinks of the other unit: fractions of one where a hundred is the whole, and the other way round.
std::string looks_like_the_other(const std::string& word, double value, const ShareUnit& unit) {
  if (unit.whole == 100 && !unit.points && value > 0 && value <= 1)
    return fmt::format(
        "{} looks like a fraction, and the flag counts per cent; expected {:g} or {:g}%, or {:g}%",
        word, value * 100, value * 100, value);
  if (unit.whole == 1 && value > unit.most && value <= unit.most * 100)
    return fmt::format(
        "{} looks like per cent, and the flag counts fractions of one; expected {:g} or {:g}%",
        word, value / 100, value);
  return {};
}

}  // namespace

CLI::Validator share_in(ShareUnit unit) {
  const auto judge = [unit](std::string& word) -> std::string {
    const bool percent = word.size() > 1 && word.back() == '%';
    std::string digits = percent ? word.substr(0, word.size() - 1) : word;
    double value = 0;
    if (!CLI::detail::lexical_cast(digits, value) || !std::isfinite(value))
      return fmt::format("'{}' is no number; expected {}", word, range_of(unit));
    const std::string wrong = percent ? "" : looks_like_the_other(word, value, unit);
    if (!wrong.empty()) return wrong;
    if (percent && unit.whole == 1) value /= 100;
    if (value < unit.least || value > unit.most)
      return fmt::format("{} is not from {}", word, range_of(unit));
    word = fmt::format("{}", value);
    return {};
  };
  return CLI::Validator(judge, fmt::format("from {}", range_of(unit)));
}

}  // namespace octet::cli
