// SPDX-License-Identifier: Apache-2.0
// Text for people: tables, numbers with units, and names from untrusted files made harmless for a terminal.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace octet::cli {

// Control characters, escape sequences and broken UTF-8 become \x1b and the like. A file may name a layer anything.
std::string sanitize(std::string_view text);
// The same, but lines stay lines; those after the first are indented.
std::string sanitize_lines(std::string_view text);

// "error: MESSAGE" and "  CONTEXT" on stderr, sanitized.
void print_error(std::string_view message);
void print_context(std::string_view line);
void print_warning(std::string_view message);

std::string human_bytes(uint64_t bytes);  // "308.2 KB"
std::string human_seconds(double value);  // "2.41 s", "340 ms"
std::string percent(double fraction);     // "93.9 %"

// Whether print_json() ran: standard output holds one object at most.
bool& json_printed();
// What keys of --json are called (tests/cli/schema.json). Grows when one is renamed or goes; the old name then stays beside the new for one version.
inline constexpr int kJsonSchema = 2;
// Prints one JSON object, with the schema as its first key, and a newline on stdout; text that is not UTF-8 is replaced, never thrown at.
void print_json(const nlohmann::ordered_json& object);

// What one of the library's to_json() wrote.
nlohmann::ordered_json parsed(const std::string& json);

// Columns as wide as their widest cell; cells are sanitized when printed. `right` columns hold numbers.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;
    size_t max_width = 0;  // longer cells end in "..."; 0: no limit
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  std::string text() const;
  void print() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace octet::cli
