// SPDX-License-Identifier: Apache-2.0
// JSON files from anywhere: parsed within bounds, and read field by field with one kind of error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/check.h"

namespace octet {

// Throws Error(invalid_argument) naming `file` for what is no JSON, nests deeper than `most_depth`, or has a key twice or 40,000
// of them in one object.
nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::string& file,
                                          int most_depth);

// One object of a file. `where` says which in errors ("choice 3: "), `expected` what the file should be.
struct JsonFields {
  const nlohmann::ordered_json& object;
  const std::string& file;
  const char* expected;
  std::string where = {};

  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> text, Args&&... args) const {
    fail(Error::Code::invalid_argument, "{}: {}{}; expected {}", file, where,
         fmt::format(text, std::forward<Args>(args)...), expected);
  }

  void check_object() const;
  const nlohmann::ordered_json& at(const char* key) const;
  const nlohmann::ordered_json& list(const char* key) const;
  std::string text(const char* key) const;
  // A whole number, also where the file has it unsigned.
  int64_t integer(const char* key, int64_t least, int64_t most) const;
  double number(const nlohmann::ordered_json& value, const char* key) const;  // finite
};

}  // namespace octet
