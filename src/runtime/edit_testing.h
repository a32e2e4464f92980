// SPDX-License-Identifier: Apache-2.0
// Texts as somebody would edit them who wants to do harm and knows the form: a word, number, name or line is taken away, repeated, exchanged
// for another of the text, or for one that no writer of ours gives.
#pragma once

#include <array>
#include <cctype>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/types.h"

namespace octet::test {

class TextEdits {
 public:
  // `words` that may stand in place of others: operators, types, keys.
  TextEdits(std::string_view text, std::vector<std::string> words, u32 seed)
      : tokens_(tokens_of(text)), words_(std::move(words)), random_(seed) {}

  // The text with one to three edits.
  std::string next() {
    std::vector<std::string> tokens = tokens_;
    const size_t edits = 1 + below(3);
    for (size_t i = 0; i < edits; ++i) edit(tokens);
    std::string text;
    for (const std::string& token : tokens) text += token;
    return text;
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '%';
  }

  static std::vector<std::string> tokens_of(std::string_view text) {
    std::vector<std::string> tokens;
    for (size_t at = 0; at < text.size();) {
      size_t end = at + 1;
      if (is_word(text[at])) {
        while (end < text.size() && is_word(text[end])) ++end;
      }
      tokens.emplace_back(text.substr(at, end - at));
      at = end;
    }
    return tokens;
  }

  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }

  // Blanks and punctuation are many and say little.
  size_t pick(const std::vector<std::string>& tokens) {
    for (int i = 0; i < 8; ++i) {
      const size_t at = below(tokens.size());
      if (is_word(tokens[at][0])) return at;
    }
    return below(tokens.size());
  }

  // One that begins alike: a name of a value for a name of a value, a number for a number.
  std::string alike(const std::vector<std::string>& tokens, const std::string& token) {
    const auto kind = [](char c) {
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) return '0';
      return std::isalpha(static_cast<unsigned char>(c)) != 0 ? 'a' : c;
    };
    for (int i = 0; i < 64; ++i) {
      const std::string& other = tokens[below(tokens.size())];
      if (kind(other[0]) == kind(token[0]) && other != token) return other;
    }
    return token;
  }

  void edit(std::vector<std::string>& tokens) {
    static constexpr std::array<std::string_view, 16> kHostile{"_",
                                                               "0",
                                                               "1",
                                                               "-1",
                                                               "-2",
                                                               "2147483648",
                                                               "9223372036854775807",
                                                               "-9223372036854775808",
                                                               "nan",
                                                               "inf",
                                                               "1e-40",
                                                               "\"\"",
                                                               "[]",
                                                               "{}",
                                                               "?",
                                                               "*"};
    const size_t at = pick(tokens);
    switch (below(7)) {
      case 0:
      case 1:
        tokens[at] = alike(tokens, tokens[at]);
        break;
      case 2:
        tokens[at] = kHostile[below(kHostile.size())];
        break;
      case 3:
        tokens[at] = words_[below(words_.size())];
        break;
      case 4:
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 5:
        std::swap(tokens[at], tokens[pick(tokens)]);
        break;
      default:
        move_line(tokens, at);
    }
    if (tokens.empty()) tokens.emplace_back("x");
  }

  // The line at a token goes, or stands twice.
  void move_line(std::vector<std::string>& tokens, size_t at) {
    size_t begin = at, end = at;
    while (begin > 0 && tokens[begin - 1] != "\n") --begin;
    while (end < tokens.size() && tokens[end] != "\n") ++end;
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = tokens.begin() + static_cast<std::ptrdiff_t>(end);
    if (below(2) == 0) {
      tokens.erase(first, last);
      return;
    }
    std::vector<std::string> line(first, last);
    line.emplace_back("\n");
    tokens.insert(first, line.begin(), line.end());
  }

  std::vector<std::string> tokens_;
  std::vector<std::string> words_;
  std::mt19937 random_;
};

}  // namespace octet::test
