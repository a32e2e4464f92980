// SPDX-License-Identifier: Apache-2.0
#include "graph/lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "core/check.h"

namespace octet {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
         c == '-';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void Lexer::error(std::string_view message) const {
  const std::string_view before = text_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = at_ - (start == std::string_view::npos ? 0 : start + 1) + 1;
  fail(Error::Code::invalid_model, "graph text line {} column {}: {}", line, column, message);
}

char Lexer::peek() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool line_start = at_ == 0 || text_[at_ - 1] == '\n';
    if (c == '#' && line_start) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else {
      return c;
    }
  }
  return '\0';
}

bool Lexer::accept(std::string_view token) {
  peek();
  if (text_.substr(at_, token.size()) != token) return false;
  const size_t end = at_ + token.size();
  if (is_word(token[0]) && end < text_.size() && is_word(text_[end])) return false;
  at_ = end;
  return true;
}

void Lexer::expect(std::string_view token) {
  if (!accept(token)) error(fmt::format("expected '{}'", token));
}

std::string Lexer::word() {
  peek();
  const size_t start = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (at_ == start) error("expected a word");
  return std::string(text_.substr(start, at_ - start));
}

std::string Lexer::quoted() {
  expect("\"");
  std::string out;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] != '\\') {
      out += text_[at_];
      continue;
    }
    if (++at_ >= text_.size()) break;
    if (text_[at_] != 'x') {
      out += text_[at_];
      continue;
    }
    const int high = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
    const int low = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 2]) : -1;
    if (high < 0 || low < 0) error("bad \\x escape");
    out += static_cast<char>(high * 16 + low);
    at_ += 2;
  }
  if (at_ >= text_.size()) error("unterminated string");
  ++at_;
  return out;
}

std::string Lexer::name() { return peek() == '"' ? quoted() : word(); }

std::string_view Lexer::number_text() {
  peek();
  const size_t start = at_;
  while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) {
    ++at_;
  }
  if (at_ == start) error("expected a number");
  return text_.substr(start, at_ - start);
}

s64 Lexer::integer() {
  const std::string_view text = number_text();
  s64 value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) error("expected a 64-bit integer");
  return value;
}

u64 Lexer::unsigned_integer() {
  const std::string_view text = number_text();
  u64 value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size())
    error("expected an unsigned 64-bit integer");
  return value;
}

f64 Lexer::number(bool* is_float) {
  const std::string_view text = number_text();
  if (is_float != nullptr) *is_float = text.find_first_of(".eni") != std::string_view::npos;
  f64 value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool tiny = status == std::errc::result_out_of_range;
  if ((status != std::errc{} && !tiny) || end != text.data() + text.size())
    error("expected a number");
  return value;
}

}  // namespace octet
