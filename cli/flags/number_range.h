// SPDX-License-Identifier: Apache-2.0
// Flags that take a number: its range stands in the help and in the error about any other. NaN is in none, as it would pass no test
// and fail none.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <type_traits>

namespace octet::cli {

// In words: `inside` is the help's, `outside` what the error says of another number.
struct RangeText {
  std::string inside, outside;
};

template <class T>
CLI::Validator number_within(T least, T most, const RangeText& text) {
  const auto judge = [least, most, outside = text.outside](std::string& word) -> std::string {
    T value{};
    const bool number = CLI::detail::lexical_cast(word, value);
    if (number && value >= least && value <= most) return {};
    if (number && (value < least || value > most)) return fmt::format("{} is {}", word, outside);
    return fmt::format("'{}' is no {}", word, std::is_integral_v<T> ? "whole number" : "number");
  };
  return CLI::Validator(judge, text.inside);
}

template <class T>
CLI::Validator from_to(T least, T most) {
  const std::string range = fmt::format("from {} to {}", least, most);
  return number_within(least, most, {range, "not " + range});
}

template <class T>
CLI::Validator from(T least) {
  return number_within(least, std::numeric_limits<T>::max(),
                       {fmt::format("from {}", least), fmt::format("not from {} on", least)});
}

inline CLI::Validator any_number() {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  return number_within(-kMost, kMost, {});
}

}  // namespace octet::cli
