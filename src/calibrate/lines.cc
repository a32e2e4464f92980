// SPDX-License-Identifier: Apache-2.0
#include "calibrate/lines.h"

#include <fmt/ranges.h>

#include "core/check.h"

namespace octet {
namespace {

constexpr size_t kShown = 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

Lines::Lines(std::string_view text) : rest_(text) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

std::optional<std::string_view> Lines::next() {
  if (rest_.empty()) return std::nullopt;
  const size_t end = rest_.find('\n');
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  return trimmed(line);
}

void WrongLines::add(s64 line, std::string why) {
  ++count_;
  if (shown_.size() < kShown) shown_.push_back(fmt::format("  line {}: {}", line, why));
}

void WrongLines::throw_if_any(std::string_view expected) const {
  if (count_ == 0) return;
  const s64 more = count_ - static_cast<s64>(shown_.size());
  fail(Error::Code::invalid_argument, "{}: {} line{} wrong; expected {}\n{}{}", file_, count_,
       count_ == 1 ? " is" : "s are", expected, fmt::join(shown_, "\n"),
       more > 0 ? fmt::format("\n  and {} more", more) : "");
}

}  // namespace octet
