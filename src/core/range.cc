// SPDX-License-Identifier: Apache-2.0
#include "octet/range.h"

#include <charconv>
#include <cmath>

#include "core/check.h"
#include "octet/closest.h"

namespace octet {
namespace {

constexpr double kDefaultPercentile = 99.99;
constexpr double kLeastPercentile = 50;
constexpr const char* kForms =
    "entropy, minmax, percentile:P (P from 50 to 100, per cent), mse, tensorrt, "
    "legacy:QUANTILE,CUTOFF (both "
    "from 0 to 1) or auto";

struct RuleName {
  RangeRule rule;
  std::string_view name;
};
constexpr RuleName kRules[] = {
    {RangeRule::entropy, "entropy"},   {RangeRule::minmax, "minmax"},
    {RangeRule::mse, "mse"},           {RangeRule::percentile, "percentile"},
    {RangeRule::tensorrt, "tensorrt"}, {RangeRule::legacy, "legacy"},
    {RangeRule::automatic, "auto"},    {RangeRule::cache, "cache"},
    {RangeRule::given, "given"},
};

[[noreturn]] void wrong(std::string_view text, std::string_view why) {
  fail(Error::Code::invalid_argument, "range method '{}': {}; expected {}", text, why, kForms);
}

double number(std::string_view digits, double most, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) {
    wrong(text, "its number cannot be read");
  }
  if (!(value > 0) || value > most) wrong(text, "its number is out of range");
  return value;
}

// "99.99" or "99.99%".
double percentile(std::string_view digits, std::string_view text) {
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const double value = number(digits, 100, text);
  if (value <= 1) {
    wrong(text, fmt::format("{:g} is a fraction, and percentiles are per cent: percentile:{:g} is "
                            "probably meant",
                            value, value * 100));
  }
  if (value < kLeastPercentile) {
    wrong(text, fmt::format("beyond a percentile of {:g} lie more than half of all values, which "
                            "would saturate",
                            value));
  }
  return value;
}

RangeMethod with_parameters(RangeRule rule, std::string_view parameters, std::string_view text) {
  if (rule == RangeRule::percentile) return {rule, percentile(parameters, text)};
  if (rule != RangeRule::legacy) wrong(text, "it takes no number");
  const size_t comma = parameters.find(',');
  if (comma == std::string_view::npos) wrong(text, "it takes two numbers");
  return {rule, number(parameters.substr(0, comma), 1, text),
          number(parameters.substr(comma + 1), 1, text)};
}

}  // namespace

std::string to_string(const RangeMethod& method) {
  std::string_view name;
  for (const RuleName& rule : kRules) {
    if (rule.rule == method.rule) name = rule.name;
  }
  if (method.rule == RangeRule::percentile) return fmt::format("{}:{}", name, method.quantile);
  if (method.rule == RangeRule::legacy)
    return fmt::format("{}:{},{}", name, method.quantile, method.cutoff);
  return std::string(name);
}

void check_range_method(const RangeMethod& method) {
  if (method.rule == RangeRule::percentile || method.rule == RangeRule::legacy)
    parse_range_method(to_string(method));
}

RangeMethod parse_range_method(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const RuleName& rule : kRules) {
    if (rule.name != name || rule.rule == RangeRule::cache || rule.rule == RangeRule::given)
      continue;
    if (colon != std::string_view::npos)
      return with_parameters(rule.rule, text.substr(colon + 1), text);
    if (rule.rule == RangeRule::percentile) return {rule.rule, kDefaultPercentile};
    if (rule.rule == RangeRule::legacy) wrong(text, "it takes two numbers");
    return rule.rule;
  }
  std::vector<std::string> names;
  for (const RuleName& rule : kRules) names.emplace_back(rule.name);
  wrong(text, "no such method" + did_you_mean(name, names));
}

}  // namespace octet
