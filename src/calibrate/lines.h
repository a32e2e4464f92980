// SPDX-License-Identifier: Apache-2.0
// Text files of one entry a line, from anywhere: the lines, and all that is wrong with them in one error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace octet {

std::string_view trimmed(std::string_view text);  // of blanks and tabs

// Without a byte order mark, carriage returns and blanks at the ends.
class Lines {
 public:
  explicit Lines(std::string_view text);
  std::optional<std::string_view> next();
  s64 number() const { return number_; }  // of the line given last, from 1

 private:
  std::string_view rest_;
  s64 number_ = 0;
};

class WrongLines {
 public:
  explicit WrongLines(std::string file) : file_(std::move(file)) {}
  void add(s64 line, std::string why);
  // One Error(invalid_argument) with the first twenty and the number of all.
  void throw_if_any(std::string_view expected) const;

 private:
  std::string file_;
  std::vector<std::string> shown_;
  s64 count_ = 0;
};

}  // namespace octet
