// SPDX-License-Identifier: Apache-2.0
// JSON files from anywhere: parsed within bounds, and read field by field with one kind of error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"

namespace octet {

// JSON that is given back without memory for it: the destructor of nlohmann's values that hold others takes some, and ends the process where
// there is none.
template <class Json>
struct JsonTree {
  explicit JsonTree(Json json) : value(std::move(json)) {}
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;
  ~JsonTree() { empty(value); }

  Json value;

 private:
  // From the inside out: what holds nothing takes no memory.
  static void empty(Json& json) {
    if (!json.is_structured()) return;
    for (Json& held : json) empty(held);
    json.clear();
  }
};
using OrderedJsonTree = JsonTree<nlohmann::ordered_json>;

// Throws Error(invalid_argument) naming `file` for what is no JSON, nests deeper than `most_depth`, or has a key twice or 40,000
// of them in one object.
OrderedJsonTree parse_bounded_json(std::string_view text, const std::string& file, int most_depth);

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
