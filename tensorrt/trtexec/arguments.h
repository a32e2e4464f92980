// SPDX-License-Identifier: Apache-2.0
// trtexec's command line: "--name=value" or "--name", nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/tensor.h"

namespace octet::cli::trtexec {

struct Argument {
  std::string name;
  std::string value;
};

class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(std::span<char* const> texts);
  explicit Arguments(std::span<const Argument> list) : list_(list.begin(), list.end()) {}

  std::span<const Argument> all() const { return list_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Of a flag that is given several times the last counts. The numbers throw Error(invalid_argument) naming the flag.
  std::string text(std::string_view name, std::string_view otherwise = "") const;
  int64_t integer(std::string_view name, int64_t otherwise, int64_t min, int64_t max) const;
  double real(std::string_view name, double otherwise) const;
  std::vector<std::string> list(std::string_view name) const;    // at commas
  std::vector<std::string> values(std::string_view name) const;  // of each time that it is given

 private:
  const Argument* find(std::string_view name) const;

  std::vector<Argument> list_;
};

std::vector<std::string> split(std::string_view text, char separator);
// "name:value" at the last colon; a name may stand in single quotes, and then hold colons.
std::pair<std::string, std::string> name_and_value(const std::string& text);
// "1x3x224x224"; "scalar" or nothing is a scalar. Throws Error(invalid_argument).
Shape parse_dims(const std::string& text, const std::string& whole);
// Bytes: "1.5G", "256" of MiB.
double parse_size(const std::string& text);

}  // namespace octet::cli::trtexec
