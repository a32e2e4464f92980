// SPDX-License-Identifier: Apache-2.0
#include "cli/output/terminal.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/messages.h"

namespace octet::cli {
namespace {

// Bytes of the well-formed UTF-8 sequence at `at` that is not a control character, or 0.
size_t printable_sequence(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  uint32_t code = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  // C1 controls, and the characters that turn the direction of text around.
  const bool control = code < 0xa0 || (code >= 0x200e && code <= 0x200f) ||
                       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return overlong || surrogate || control || code > 0x10ffff ? 0 : length;
}

size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

std::string shorten(std::string text, size_t width) {
  if (width == 0 || display_width(text) <= width) return text;
  size_t end = 0;
  for (size_t shown = 0; end < text.size(); ++end) {
    if ((static_cast<uint8_t>(text[end]) & 0xc0) != 0x80 && shown++ == width - 3) break;
  }
  return text.substr(0, end) + "...";
}

std::string pad(const std::string& text, size_t width, bool right) {
  const std::string fill(width - std::min(width, display_width(text)), ' ');
  return right ? fill + text : text + fill;
}

}  // namespace

std::string sanitize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = printable_sequence(text, at);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[at++]));
    } else {
      out += text.substr(at, length);
      at += length;
    }
  }
  return out;
}

std::string sanitize_lines(std::string_view text) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += (at == 0 ? "" : "\n  ") + sanitize(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

void print_error(std::string_view text) { message("error: " + sanitize_lines(text)); }

void print_context(std::string_view line) { message("  " + sanitize_lines(line)); }

void print_warning(std::string_view text) { message("warning: " + sanitize_lines(text)); }

bool& json_printed() {
  static bool printed = false;
  return printed;
}

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string human_seconds(double value) {
  if (value >= 1) return fmt::format("{:.2f} s", value);
  if (value >= 1e-3) return fmt::format("{:.2f} ms", value * 1e3);
  return fmt::format("{:.1f} us", value * 1e6);
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

void print_json(const nlohmann::ordered_json& object) {
  json_printed() = true;
  nlohmann::ordered_json whole{{"schema", kJsonSchema}};
  whole.update(object);
  fmt::print("{}\n", whole.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

nlohmann::ordered_json parsed(const std::string& json) {
  return nlohmann::ordered_json::parse(json);
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = shorten(sanitize(cells[i]), columns_[i].max_width);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto add_line = [&](auto cell) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      line += (i == 0 ? "" : "  ") + pad(cell(i), widths[i], columns_[i].right);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](size_t i) { return row[i]; });
  return out;
}

void Table::print() const { fmt::print("{}", text()); }

}  // namespace octet::cli
