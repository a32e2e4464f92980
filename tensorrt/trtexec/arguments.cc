// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/arguments.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "cli/fail.h"

namespace octet::cli::trtexec {
namespace {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

Arguments::Arguments(std::span<char* const> texts) {
  for (const std::string_view text : texts) {
    const size_t equals = text.find('=');
    const std::string_view value = equals == text.npos ? "" : text.substr(equals + 1);
    list_.push_back({std::string(text.substr(0, equals)), std::string(value)});
  }
}

const Argument* Arguments::find(std::string_view name) const {
  const auto found = std::find_if(list_.rbegin(), list_.rend(),
                                  [&](const Argument& argument) { return argument.name == name; });
  return found == list_.rend() ? nullptr : &*found;
}

std::string Arguments::text(std::string_view name, std::string_view otherwise) const {
  const Argument* found = find(name);
  return found == nullptr ? std::string(otherwise) : found->value;
}

int64_t Arguments::integer(std::string_view name, int64_t otherwise, int64_t min,
                           int64_t max) const {
  const Argument* found = find(name);
  if (found == nullptr) return otherwise;
  const auto value = parse_number<int64_t>(found->value);
  if (!value || *value < min || *value > max)
    fail(Error::Code::invalid_argument, "{}={}: expected an integer from {} to {}", name,
         found->value, min, max);
  return *value;
}

double Arguments::real(std::string_view name, double otherwise) const {
  const Argument* found = find(name);
  if (found == nullptr) return otherwise;
  const auto value = parse_number<double>(found->value);
  if (!value || !std::isfinite(*value))
    fail(Error::Code::invalid_argument, "{}={}: expected a number", name, found->value);
  return *value;
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  return split(text(name), ',');
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  std::vector<std::string> values;
  for (const Argument& argument : list_) {
    if (argument.name == name) values.push_back(argument.value);
  }
  return values;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::pair<std::string, std::string> name_and_value(const std::string& text) {
  const auto quotes = std::count(text.begin(), text.end(), '\'');
  if (quotes == 0) {
    const size_t colon = text.rfind(':');
    if (colon == text.npos) fail(Error::Code::invalid_argument, "'{}': expected name:value", text);
    return {text.substr(0, colon), text.substr(colon + 1)};
  }
  if (quotes != 2) {
    fail(Error::Code::invalid_argument,
         "Found invalid number of 's when parsing {}. Expected: 2, received: {}. Please ensure "
         "that a "
         "singular comma is used within each comma-separated key-value pair for options like "
         "--inputIOFormats, --optShapes, --optShapesCalib, --layerPrecisions, etc.",
         text, quotes);
  }
  const size_t first = text.find('\''), last = text.rfind('\'');
  if (last + 1 >= text.size() || text[last + 1] != ':')
    fail(Error::Code::invalid_argument, "{}: expected ':' behind the quoted name", text);
  return {text.substr(0, first) + text.substr(first + 1, last - first - 1), text.substr(last + 2)};
}

Shape parse_dims(const std::string& text, const std::string& whole) {
  Shape shape;
  if (text == "scalar") return shape;
  const std::vector<std::string> parts = split(text, 'x');
  if (parts.size() > static_cast<size_t>(Shape::kMaxRank))
    fail(Error::Code::invalid_argument, "'{}': a shape has at most {} dimensions", whole,
         Shape::kMaxRank);
  for (const std::string& part : parts) {
    const auto dim = parse_number<int64_t>(part);
    if (!dim || *dim < 0 || *dim > std::numeric_limits<int32_t>::max())
      fail(Error::Code::invalid_argument, "'{}': '{}' is no dimension; expected name:1x3x224x224",
           whole, part);
    shape.push_back(*dim);
  }
  return shape;
}

double parse_size(const std::string& text) {
  double unit = 1 << 20;
  std::string_view digits = text;
  if (!digits.empty() && std::isdigit(static_cast<unsigned char>(digits.back())) == 0) {
    constexpr std::string_view kUnits = "BKMG";
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back())));
    const size_t power = kUnits.find(letter);
    if (power == kUnits.npos) {
      fail(Error::Code::invalid_argument,
           "Error parsing \"{}\": invalid unit specifier '{}'. Valid base-2 unit suffixes include: "
           "B (Bytes), G (Gibibytes), K (Kibibytes), M (Mebibytes).",
           text, letter);
    }
    unit = std::ldexp(1.0, static_cast<int>(power) * 10);
    digits.remove_suffix(1);
  }
  const auto value = parse_number<double>(digits);
  if (!value || !std::isfinite(*value))
    fail(Error::Code::invalid_argument, "'{}' is no size", text);
  if (*value < 0) fail(Error::Code::invalid_argument, "Negative memory pool size: {:f}", *value);
  return *value * unit;
}

}  // namespace octet::cli::trtexec
