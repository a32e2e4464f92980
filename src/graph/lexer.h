// SPDX-License-Identifier: Apache-2.0
// Tokens of the graph's text form. Every error names line and column; nothing is allocated beyond the text's own size.
#pragma once

#include <string>
#include <string_view>

#include "core/types.h"

namespace octet {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // Skips blanks and #-comments (a comment starts a line), then looks at the next byte; 0 at the end.
  char peek();
  bool accept(std::string_view token);  // a punctuation token or a word that ends here
  void expect(std::string_view token);
  std::string word();    // [A-Za-z0-9_./-]+
  std::string quoted();  // "..."
  std::string name();    // word or quoted
  s64 integer();
  u64 unsigned_integer();
  // A number, nan, inf, -inf. `is_float` tells whether it was written as one.
  f64 number(bool* is_float = nullptr);
  [[noreturn]] void error(std::string_view message) const;

 private:
  std::string_view number_text();
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace octet
