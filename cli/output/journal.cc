// SPDX-License-Identifier: Apache-2.0
#include "cli/output/journal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "cli/fail.h"
#include "octet/input.h"

namespace octet::cli {
namespace {

constexpr std::string_view kJournalHeader = "octet-journal 1";
constexpr uint64_t kMostBytes = uint64_t{64} << 20;

// A number that is none is nothing that a search could have measured.
std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

}  // namespace

Journal::Journal(const Output& output) {
  if (!output.given()) return;
  const std::filesystem::path& path = output.path();
  if (std::filesystem::exists(path)) read(path);
  log_ = std::make_unique<LineLog>(path, kJournalHeader);
}

void Journal::read(const std::filesystem::path& path) {
  const std::string text = read_text(path, kMostBytes);
  std::string_view rest = text;
  for (size_t line = 1; !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    if (end == rest.npos) return;  // its writer was killed
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line == 1 && entry == kJournalHeader) continue;
    const size_t blank = entry.rfind(' ');
    const auto value = blank == entry.npos ? std::nullopt : number(entry.substr(blank + 1));
    if (line == 1 || !value) {
      fail(Error::Code::invalid_argument,
           "'{}', line {}: not of a journal, whose first line is '{}' and whose others are a key "
           "and a number; name another file",
           path.string(), line, kJournalHeader);
    }
    values_[std::string(entry.substr(0, blank))] = *value;
  }
}

std::optional<double> Journal::recall(const std::string& key) const {
  const auto at = values_.find(key);
  if (at == values_.end()) return std::nullopt;
  ++recalled_;
  return at->second;
}

void Journal::record(const std::string& key, double value) {
  if (log_ == nullptr) return;
  // The shortest text that reads back to the same number.
  if (!log_->add(fmt::format("{} {}", key, value)))
    fail(Error::Code::io, "the journal could not be written; the disk may be full");
}

}  // namespace octet::cli
