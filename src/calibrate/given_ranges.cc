// SPDX-License-Identifier: Apache-2.0
// Ranges by hand, from a file of lines or of JSON.
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "calibrate/lines.h"
#include "core/bounded_json.h"
#include "octet/calibrate.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxNesting = 2;

std::optional<f32> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  f32 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Empty when the range can be used.
std::string unusable(const GivenRange& range) {
  if (!std::isfinite(range.min) || !std::isfinite(range.max))
    return fmt::format("'{}' from {} to {} is not finite", range.pattern, range.min, range.max);
  if (range.min > range.max)
    return fmt::format("'{}' ends at {}, before it begins at {}", range.pattern, range.max,
                       range.min);
  if (std::max(std::fabs(range.min), std::fabs(range.max)) < std::numeric_limits<f32>::min())
    return fmt::format("'{}' from {} to {} has no extent", range.pattern, range.min, range.max);
  return {};
}

class Collector {
 public:
  explicit Collector(const std::string& name) : wrong_(name) {}

  void add(s64 line, GivenRange range) {
    std::string why = unusable(range);
    if (why.empty() && !names_.insert(range.pattern).second)
      why = fmt::format("'{}' stands there before", range.pattern);
    if (!why.empty()) return wrong_.add(line, std::move(why));
    ranges_.push_back(std::move(range));
  }
  void wrong(s64 line, std::string why) { wrong_.add(line, std::move(why)); }

  std::vector<GivenRange> take() {
    wrong_.throw_if_any("'tensor: min max' or 'tensor: largest-magnitude', in finite numbers");
    return std::move(ranges_);
  }

 private:
  WrongLines wrong_;
  std::vector<GivenRange> ranges_;
  std::unordered_set<std::string> names_;
};

// "min max" or "largest magnitude"; names may have colons.
std::optional<GivenRange> parse_line(std::string_view line) {
  const size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view values = trimmed(line.substr(colon + 1));
  const size_t blank = values.find_first_of(" \t,");
  const auto first = number(values.substr(0, blank));
  std::optional<f32> second;
  if (blank != std::string_view::npos) {
    second = number(trimmed(values.substr(blank + 1)));
    if (!second) return std::nullopt;
  }
  if (!first) return std::nullopt;
  const std::string pattern(trimmed(line.substr(0, colon)));
  return second ? GivenRange{pattern, *first, *second} : GivenRange{pattern, -*first, *first};
}

std::vector<GivenRange> parse_lines(std::string_view text, const std::string& name) {
  Lines lines(text);
  Collector collector(name);
  while (const auto line = lines.next()) {
    if (line->empty() || line->starts_with('#')) continue;
    if (auto range = parse_line(*line)) {
      collector.add(lines.number(), *std::move(range));
    } else {
      collector.wrong(lines.number(), fmt::format("'{}'", line->substr(0, 80)));
    }
  }
  return collector.take();
}

std::optional<GivenRange> range_of(const std::string& tensor, const Json& value) {
  if (value.is_number()) {
    const f32 most = value.get<f32>();
    return GivenRange{tensor, -most, most};
  }
  if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number())
    return std::nullopt;
  return GivenRange{tensor, value[0].get<f32>(), value[1].get<f32>()};
}

std::vector<GivenRange> parse_json(std::string_view text, const std::string& name) {
  const OrderedJsonTree tree = parse_bounded_json(text, name, kMaxNesting);
  const Json& json = tree.value;
  Collector collector(name);
  s64 entry = 0;
  for (const auto& [tensor, value] : json.items()) {
    ++entry;
    if (auto range = range_of(tensor, value)) {
      collector.add(entry, *std::move(range));
    } else {
      collector.wrong(entry, fmt::format("'{}' is neither [min, max] nor a number", tensor));
    }
  }
  return collector.take();
}

}  // namespace

std::vector<GivenRange> parse_given_ranges(std::string_view text, const std::string& name) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return parse_json(text, name);
  return parse_lines(text, name);
}

}  // namespace octet
