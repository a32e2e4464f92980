// SPDX-License-Identifier: Apache-2.0
#include "octet/closest.h"

#include <algorithm>
#include <vector>

namespace octet {
namespace {

// Longer names are no slips of the keyboard; the bound also keeps the table of edits small.
constexpr size_t kLongest = 200;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// Insertions, removals, changes and swaps of neighbours (optimal string alignment); `most` + 1 where there are more.
size_t edits(std::string_view a, std::string_view b, size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    if (*std::ranges::min_element(row) > most) return most + 1;
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// A part of a longer name, as '3' is not: '/layer1/Conv' where 'layer1/Conv' was given.
std::string only_holder(const std::string& given, std::span<const std::string> known) {
  if (given.size() < 3) return {};
  const auto holds = [&](const std::string& name) {
    return name.size() <= kLongest && lower(name).find(given) != std::string::npos;
  };
  const auto first = std::ranges::find_if(known, holds);
  if (first == known.end() || std::find_if(first + 1, known.end(), holds) != known.end()) return {};
  return *first;
}

}  // namespace

std::string closest(std::string_view given, std::span<const std::string> known) {
  if (given.empty() || given.size() > kLongest) return {};
  const std::string wanted = lower(given);
  const size_t most = std::max<size_t>(1, given.size() / 3);
  size_t best = most + 1;
  const std::string* found = nullptr;
  for (const std::string& name : known) {
    if (name.empty() || name.size() > kLongest) continue;
    const size_t away = edits(wanted, lower(name), std::min(best, most));
    // A name of one letter is one edit from every other.
    if (away >= best || away >= std::max(wanted.size(), name.size())) continue;
    best = away;
    found = &name;
  }
  return found != nullptr ? *found : only_holder(wanted, known);
}

std::string did_you_mean(std::string_view given, std::span<const std::string> known) {
  const std::string name = closest(given, known);
  return name.empty() ? "" : "; did you mean '" + name + "'?";
}

}  // namespace octet
